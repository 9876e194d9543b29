"""Several requests to a server at once, their answers in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from threading import Event
from typing import TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")


def in_order(ask: Callable[[Item], Found], items: Sequence[Item], at_once: int) -> Iterator[Found]:
    """`ask` of each item, in threads. After one that raises none is begun; those before it are handed over first."""
    failed = Event()
    first: list[int] = []

    def unless_failed(place: int, item: Item) -> Found:
        # One that was taken before another failed, but looks only now, is asked: no earlier one would tell why.
        if failed.is_set() and place > min(first):
            raise CancelledError
        try:
            return ask(item)
        except BaseException:
            first.append(place)
            failed.set()
            raise

    pool = ThreadPoolExecutor(at_once)
    try:
        yield from pool.map(unless_failed, range(len(items)), items)
    finally:
        pool.shutdown(cancel_futures=True)
