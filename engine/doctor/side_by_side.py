"""Several things at once, by threads that nobody waits for: an interrupted look ends at once, whatever is under way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")


def side_by_side(do: Callable[[Item], Found], items: Sequence[Item], at_once: int) -> Iterator[Found]:
    """What `do` makes of each, in order, as they come. What it raises for one is raised in its place."""
    left: SimpleQueue[tuple[Item, Future[Found]]] = SimpleQueue()
    futures: list[Future[Found]] = []
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
