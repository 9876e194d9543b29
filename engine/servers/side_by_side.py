"""Several requests to a server at once, in threads: their results in the order of the items, or each as it comes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from itertools import islice
from threading import Event
from typing import TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")

_LOOK_EVERY = 0.1
"""Seconds between two looks at whether to go on."""


def map_side_by_side(
    ask: Callable[[Item], Found], items: Sequence[Item], at_once: int
) -> Generator[Found, None, None]:
    """`ask` of each item. After one that raises none is begun; those before it are handed over first. Whoever does not
    want the rest closes it: then none is begun, and those under way are waited for."""
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


def for_each_side_by_side(
    ask: Callable[[Item], Found],
    items: Iterable[Item],
    at_once: int,
    done: Callable[[Item, Found], None],
    checkpoint: Callable[[], None],
) -> None:
    """`ask` of each item, which is taken when its turn comes; `done` with each result, in this thread, as soon as it is
    there. `checkpoint` may block, then nothing new is begun. Where it raises, `ask` or `done` does, what has been begun
    is still ended and handed over."""
    waiting: dict[Future[Found], Item] = {}
    left = iter(items)
    with ThreadPoolExecutor(at_once) as pool:
        try:
            while True:
                checkpoint()
                for item in islice(left, at_once - len(waiting)):
                    waiting[pool.submit(ask, item)] = item
                if not waiting:
                    return
                finished, _ = wait(waiting, timeout=_LOOK_EVERY, return_when=FIRST_COMPLETED)
                for future in finished:
                    done(waiting.pop(future), future.result())
        except BaseException:
            for future in wait(waiting).done:
                if future.exception() is None:
                    done(waiting[future], future.result())
            raise
