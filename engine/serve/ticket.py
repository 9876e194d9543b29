"""A request between the server, which talks to its client, and the desk, which has it answered."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.events import DecisionTaken
from engine.levers.flight import InFlight
from engine.levers.lever import ESM
from engine.levers.levers import Answered, Prepared
from engine.serve.wanted import Wanted


@dataclass(frozen=True)
class Written:
    """More of the answer's text."""

    text: str


@dataclass(frozen=True)
class Failed:
    """There will be no answer. `ours`: for a reason that is not the request's; `stopping`: the server ends."""

    why: str
    ours: bool = True
    stopping: bool = False


News = Written | DecisionTaken | Answered | Failed
"""What a client is told; the last two are the end."""


@dataclass
class Ticket:
    """One request. `tell` may be called from any thread."""

    request: str
    wanted: Wanted
    tell: Callable[[News], None]
    prepared: Prepared | None = None
    came: float = field(default_factory=time.monotonic)
    began: float = 0.0
    first: float | None = None
    """Seconds from its place to the first text."""
    left: bool = False
    """Its client has gone."""
    told: int = 0
    """Characters told so far."""
    decided: int = 0
    """Decisions taken note of so far."""
    spent: int = 0
    """Tokens of texts that were given up for a second answer, and of their probes."""

    @property
    def text(self) -> InFlight:
        assert self.prepared is not None, "it was not prepared"
        return self.prepared.text

    @property
    def held_back(self) -> bool:
        """Whether nothing may be told before the end, because there may be a second answer."""
        return self.prepared is not None and self.prepared.again is not None

    def new_decisions(self) -> list[DecisionTaken]:
        """ESM's since the last call."""
        new = self.text.answer.decisions[self.decided :]
        self.decided += len(new)
        return new if ESM in self.wanted.chosen.levers else []

    def tell_news(self, decisions: list[DecisionTaken]) -> None:
        """Tell these decisions, and the text that no later token can change."""
        if self.held_back:
            return
        for decision in decisions:
            self.tell(decision)
        ready = settled(self.text)
        if len(ready) > self.told:
            self.tell(Written(ready[self.told :]))
            self.told = len(ready)
            if self.first is None:
                self.first = time.monotonic() - self.began


def settled(text: InFlight) -> str:
    """What is written for good: without half a letter at the end, and without what may become a stop string."""
    said = text.text
    if text.finish:
        return said
    said = said.rstrip("\ufffd")
    for count in range(min(len(said), max((len(stop) for stop in text.stops), default=0)), 0, -1):
        if any(stop.startswith(said[-count:]) for stop in text.stops):
            return said[:-count]
    return said
