"""A stage's work, separate from the process that does it: the worker itself, or replicas.

A stage whose work can be spread over replicas has two halves. The *work* turns one item into its result; it knows the
configuration and no files. The stage itself cuts the items, hands them to the work, and writes files and events from
the results. Results come in the order of the items, and the items are the same for any number of replicas, so that
neither can change a result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from engine.config.models.model import ModelSection
from engine.events import Event, Notice
from engine.lm.protocol import LanguageModel

ItemT = TypeVar("ItemT", contravariant=True)
ResultT = TypeVar("ResultT", covariant=True)


@dataclass(frozen=True)
class WorkContext:
    """What work may use in the process that does it.

    `checkpoint` may block or raise in the worker's process; in a replica it does neither. `emit` logs an event at once,
    from a replica too. `clock` gives seconds, not counting pauses.
    """

    load_model: Callable[[ModelSection], LanguageModel]
    checkpoint: Callable[[], None]
    emit: Callable[[Event], None]
    clock: Callable[[], float] = time.monotonic

    def notice(self, text: str, level: str = "info") -> None:
        """Show the user a message."""
        self.emit(Notice(text=text, level=level))


class Work(Protocol[ItemT, ResultT]):
    """Work of a stage. It travels to replicas by pickle, as items and results do: all of them are plain data."""

    def open(self, context: WorkContext) -> Callable[[ItemT], ResultT]:
        """Load what the work needs, once in each process; returns the function that does one item."""
        ...


ReadyWork = Callable[[Iterable[ItemT]], Iterator[ResultT]]
"""Work that a process has opened: items, drawn as they are needed -> the result of each, in order."""


class Spread(Protocol):
    """Opens work where it is to be done: in this process, or in replicas."""

    def __call__(self, work: Work[ItemT, ResultT], context: WorkContext) -> ReadyWork[ItemT, ResultT]: ...


def in_process(work: Work[ItemT, ResultT], context: WorkContext) -> ReadyWork[ItemT, ResultT]:
    """Work that does one item after another in this process."""
    do = work.open(context)

    def results(items: Iterable[ItemT]) -> Iterator[ResultT]:
        for item in items:
            context.checkpoint()
            yield do(item)

    return results
