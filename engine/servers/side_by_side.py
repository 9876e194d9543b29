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
    """Yield `ask(item)` for each item, in the items' order. After a call that raises no further one starts; results of
    earlier items are yielded first. Closing the generator starts no further call and waits for those under way."""
    failed = Event()
    first: list[int] = []

    def unless_failed(place: int, item: Item) -> Found:
        # An earlier item is still asked: its own failure, if any, is the one to raise.
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
    """Call `ask(item)` in threads, and `done(item, result)` in this thread as soon as each result is there.

    Items are taken when their turn comes. While `checkpoint` blocks, no call starts. If `checkpoint`, `ask` or `done`
    raises, calls under way still finish and their results are handed over."""
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
