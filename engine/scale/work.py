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
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from engine.config.models.model import ModelSection
from engine.events import Event, Notice
from engine.lm.protocol import LanguageModel
from engine.servers.known_servers import KnownServers

if TYPE_CHECKING:
    from engine.config.models.openai import OpenAISection
    from engine.servers.client import OpenAIClient

ItemT = TypeVar("ItemT", contravariant=True)
ResultT = TypeVar("ResultT", covariant=True)
Keep = Callable[[Any], None]
Role = Literal["reflector", "judge", "controller", "model", "vision"]
"""What a stage uses a model behind a server for; requests are counted by role."""


@dataclass(frozen=True)
class WorkContext:
    """What work may use in the process that does it.

    `checkpoint` may block or raise in the worker's process; in a replica it does neither. `emit` logs an event at once,
    from a replica too. `keep` hands over what should be kept even if the item is not finished: at once in the worker's
    process, from a replica together with the item, because it is stored in the order of the items.
    `servers`: the state of each server, shared by all roles that ask it. `processes`: how many processes do this work;
    they share a server's `requests_per_minute`. `clock` gives seconds, not counting pauses.
    """

    stage: str
    load_model: Callable[[ModelSection], LanguageModel]
    checkpoint: Callable[[], None]
    emit: Callable[[Event], None]
    keep: Keep
    servers: KnownServers
    processes: int = 1
    clock: Callable[[], float] = time.monotonic

    def client(
        self, section: OpenAISection, role: Role, where: str, requests_per_minute: float = 0
    ) -> OpenAIClient:
        """A client whose requests are counted for `role`; a pause holds its waiting, a stop ends it. `where` is the
        section's path in the configuration. Raises ConfigError where the section's key is not set."""
        from engine.servers.client import OpenAIClient

        self.servers.usage.open()
        return OpenAIClient(
            section, where, checkpoint=self.checkpoint, notice=self.notice,
            requests_per_minute=requests_per_minute / self.processes, stage=self.stage, role=role, servers=self.servers,
            emit=self.emit,
        )  # fmt: skip

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
