"""Calls in several daemon threads, so that an interrupted examination ends at once, without waiting for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(do: Callable[[Item], Result], items: Sequence[Item], at_once: int) -> Iterator[Result]:
    """The result of `do` for each item, in order, each as soon as it is there; an error is raised in its turn."""
    left: SimpleQueue[tuple[Item, Future[Result]]] = SimpleQueue()
    futures: list[Future[Result]] = []
    for item in items:
        futures.append(Future())
        left.put((item, futures[-1]))

    def work() -> None:
        while True:
            try:
                item, future = left.get_nowait()
            except Empty:
                return
            try:
                future.set_result(do(item))
            except BaseException as error:
                future.set_exception(error)

    for _ in range(min(at_once, len(items))):
        threading.Thread(target=work, daemon=True).start()
    for future in futures:
        yield future.result()
