"""Several requests to a server at once, in threads: each result as it comes, also at a stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Generic, Self, TypeVar

from engine.errors import SteerError

Item = TypeVar("Item")
Result = TypeVar("Result")

DEAD_AFTER = 8
"""Failures of a server in a row that end the stage."""
_POLL_SECONDS = 0.1
"""Seconds between two looks at whether to go on."""


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
                finished, _ = wait(waiting, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
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
                wait(self._waiting, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
                self.hand_over()
        finally:
            self._pool.shutdown(cancel_futures=True)


class ServerFailures(Generic[Item]):
    """Failures of a server in a row: one that fails at everything ends the stage, and a resumed run asks again. Their
    records are held back, and written once the server answers again."""

    def __init__(self, write: Callable[[Item], None]) -> None:
        self._write = write
        self._held: list[tuple[Item, SteerError]] = []

    def take(self, record: Item, failure: SteerError | None = None) -> None:
        """A record, with the server's failure if it failed. Raises the failure that is one too many."""
        if failure is None:
            if len(self._held) < DEAD_AFTER:
                self.end()
            self._write(record)
            return
        self._held.append((record, failure))
        if len(self._held) >= DEAD_AFTER:
            raise failure

    def end(self, asked: int = 0, least: int = 2) -> None:
        """Write what is held. Raises the last failure if all of `asked` items failed, `least` or more."""
        if len(self._held) == asked >= least:
            raise self._held[-1][1]
        for record, _ in self._held:
            self._write(record)
        self._held = []
