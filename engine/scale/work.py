"""A stage's work, apart from where it is done.

A stage that may be spread has two halves. The *work* turns one item into what was found about it; it knows the
configuration and nothing of files. The stage itself drives: it cuts items, hands them over, and writes files and events
from what comes back. Items come back in the order in which they went out, and an item is the same whatever the number
of replicas: neither can change a result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from engine.config.model import ModelSection
from engine.events import Event, Notice
from engine.lm.protocol import LanguageModel
from engine.servers.known_servers import KnownServers

if TYPE_CHECKING:
    from engine.config.openai import OpenAISection
    from engine.servers.client import OpenAIClient

ItemT = TypeVar("ItemT", contravariant=True)
FoundT = TypeVar("FoundT", covariant=True)
Keep = Callable[[Any], None]
Role = Literal["reflector", "judge", "controller", "model", "vision"]
"""What a model behind a server is asked for; its requests are counted so."""


@dataclass(frozen=True)
class Place:
    """What work may use where it is done.

    `checkpoint` may block or raise in the worker's process; in a replica it does neither. `keep` hands over what should
    be kept even if the item is not finished: at once in the worker's process, from a replica together with the item.
    `servers` is what the roles know of the servers they ask. `places`: how many there are like this one, which share
    what a server is to be asked in a minute. `clock` gives seconds, of which none pass in a pause.
    """

    stage: str
    load_model: Callable[[ModelSection], LanguageModel]
    checkpoint: Callable[[], None]
    emit: Callable[[Event], None]
    keep: Keep
    servers: KnownServers
    places: int = 1
    clock: Callable[[], float] = time.monotonic

    def client(
        self, section: OpenAISection, role: Role, where: str, requests_per_minute: float = 0
    ) -> OpenAIClient:
        """A client whose waiting a pause holds and a stop ends, and whose requests are counted for `role`; `where` is
        the section's place in the configuration. Raises ConfigError for a key that is not there."""
        from engine.servers.client import OpenAIClient

        self.servers.usage.open()
        return OpenAIClient(
            section, where, checkpoint=self.checkpoint, notice=self.notice,
            requests_per_minute=requests_per_minute / self.places, stage=self.stage, role=role, servers=self.servers,
        )  # fmt: skip

    def notice(self, text: str, level: str = "info") -> None:
        """Tell the user something."""
        self.emit(Notice(text=text, level=level))


class Work(Protocol[ItemT, FoundT]):
    """Travels to replicas by pickle, as do items and what is found: all of it is plain data."""

    def open(self, place: Place) -> Callable[[ItemT], FoundT]:
        """Make ready, once a place: load what is needed. The result is called with one item after another."""
        ...

    def size(self, item: ItemT) -> int:
        """In the units that the stage counts."""
        ...


Over = Callable[[Iterable[ItemT]], Iterator[FoundT]]
"""Items, taken when they are needed -> what was found about each, in order."""


class Spread(Protocol):
    """Makes work ready somewhere."""

    def __call__(self, work: Work[ItemT, FoundT], here: Place) -> Over[ItemT, FoundT]: ...


def in_process(work: Work[ItemT, FoundT], here: Place) -> Over[ItemT, FoundT]:
    """One item after another in this process."""
    do = work.open(here)

    def over(items: Iterable[ItemT]) -> Iterator[FoundT]:
        for item in items:
            here.checkpoint()
            yield do(item)

    return over
