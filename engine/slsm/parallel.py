"""Several requests at once, each result handed over as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")

_LOOK_EVERY = 0.1


def in_parallel(
    items: Iterable[Item],
    work: Callable[[Item], Found],
    done: Callable[[Item, Found], None],
    at_once: int,
    checkpoint: Callable[[], None],
) -> None:
    """`work` on every item in threads, `done` on each result in this thread. `checkpoint` may block, then nothing new
    is begun; or raise, then what has been begun is still ended and handed over."""
    waiting: dict[Future[Found], Item] = {}
    left = iter(items)
    more = True
    with ThreadPoolExecutor(at_once) as pool:
        try:
            while more or waiting:
                checkpoint()
                while more and len(waiting) < at_once:
                    item = next(left, None)
                    if item is None:
                        more = False
                    else:
                        waiting[pool.submit(work, item)] = item
                _hand_over(waiting, done)
        except BaseException:
            for future in wait(waiting).done:
                if future.exception() is None:
                    done(waiting[future], future.result())
            raise


def _hand_over(waiting: dict[Future[Found], Item], done: Callable[[Item, Found], None]) -> None:
    finished, _ = wait(waiting, timeout=_LOOK_EVERY, return_when=FIRST_COMPLETED)
    for future in finished:
        done(waiting.pop(future), future.result())
