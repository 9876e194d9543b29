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

    def unless_failed(item: Item) -> Found:
        if failed.is_set():  # items are begun in order, so an earlier one tells why
            raise CancelledError
        try:
            return ask(item)
        except BaseException:
            failed.set()
            raise

    pool = ThreadPoolExecutor(at_once)
    try:
        yield from pool.map(unless_failed, items)
    finally:
        pool.shutdown(cancel_futures=True)
