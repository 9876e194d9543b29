"""Several requests to a server at once, in threads: their results in the order of the items, or each as it comes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from itertools import islice
from threading import Event
from typing import Generic, Self, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_LOOK_EVERY = 0.1
"""Seconds between two looks at whether to go on."""


def map_side_by_side(
    ask: Callable[[Item], Result],
    items: Sequence[Item],
    at_once: int,
    early: Callable[[int, Result], None] = lambda number, result: None,
) -> Generator[Result, None, None]:
    """Yield `ask(item)` for each item, in the items' order. `early(number, result)` is called in this thread as soon as
    a result is there. After a call that raises no further one starts; results of earlier items are yielded first.
    Closing the generator starts no further call and waits for those under way."""
    failed = Event()
    first: list[int] = []

    def unless_failed(place: int, item: Item) -> Result:
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
        futures = [pool.submit(unless_failed, place, item) for place, item in enumerate(items)]
        waiting = {future: place for place, future in enumerate(futures)}
        for future in futures:
            while future in waiting:
                for ended in wait(waiting, return_when=FIRST_COMPLETED).done:
                    place = waiting.pop(ended)
                    if not ended.cancelled() and ended.exception() is None:
                        early(place, ended.result())
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def for_each_side_by_side(
    ask: Callable[[Item], Result],
    items: Iterable[Item],
    at_once: int,
    done: Callable[[Item, Result], None],
    checkpoint: Callable[[], None],
) -> None:
    """Call `ask(item)` in threads, and `done(item, result)` in this thread as soon as each result is there.

    Items are taken when their turn comes. While `checkpoint` blocks, no call starts. If `checkpoint`, `ask` or `done`
    raises, calls under way still finish and their results are handed over."""
    waiting: dict[Future[Result], Item] = {}
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


class Calls(Generic[Item, Result]):
    """Calls in threads about items that come one by one. `done(item, result)` is called in this thread, by `hand_over`
    and at the end of the `with` block, which waits for all; it raises what `ask` or `done` raised. Where the block
    ends with an error, no further call starts."""

    def __init__(
        self, ask: Callable[[Item], Result], at_once: int, done: Callable[[Item, Result], None]
    ) -> None:
        self._ask, self._done = ask, done
        self._pool = ThreadPoolExecutor(at_once)
        self._waiting: dict[Future[Result], Item] = {}

    def add(self, item: Item) -> None:
        """Call about one more item, as soon as a thread is free."""
        self._waiting[self._pool.submit(self._ask, item)] = item
        self.hand_over()

    def hand_over(self) -> None:
        """Hand over the results that are there."""
        for future in [future for future in self._waiting if future.done()]:
            self._done(self._waiting.pop(future), future.result())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: object, *rest: object) -> None:
        try:
            while self._waiting and failed is None:
                wait(self._waiting, timeout=_LOOK_EVERY, return_when=FIRST_COMPLETED)
                self.hand_over()
        finally:
            self._pool.shutdown(cancel_futures=True)
