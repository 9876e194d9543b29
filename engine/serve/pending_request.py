"""A request between the server, which talks to its client, and the scheduler, which has it answered."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.events import DecisionTaken
from engine.levers.in_flight_batch import InFlight
from engine.levers.lever import ESM
from engine.levers.levers import Prepared, SteeredAnswer
from engine.levers.token_logprobs import ScoredToken
from engine.serve.parsed_request import ParsedRequest


@dataclass(frozen=True)
class Written:
    """More of the answer's text, and how likely its tokens are, if that is asked for."""

    text: str
    scored: list[ScoredToken]


@dataclass(frozen=True)
class Failed:
    """There will be no answer. `stopping`: the server ends."""

    why: str
    stopping: bool = False


Update = Written | DecisionTaken | SteeredAnswer | Failed
"""What a client is sent; the last two are the end."""


@dataclass
class PendingRequest:
    """One answer to a request. `send` may be called from any thread; `question`: what is asked, for people."""

    name: str
    parsed: ParsedRequest
    question: str
    send: Callable[[Update], None]
    prepared: Prepared
    arrived: float = field(default_factory=time.monotonic)
    began: float = 0.0
    first: float | None = None
    """Seconds from its place to the first text."""
    cancelled: bool = False
    """Its client has gone."""
    sent: int = 0
    """Characters sent so far."""
    reported: int = 0
    """Tokens sent so far with their logprobs."""
    decided: int = 0
    """Decisions taken note of so far."""
    spent: int = 0
    """Tokens of texts that were given up for a second answer, and of their probes."""

    @property
    def text(self) -> InFlight:
        return self.prepared.text

    def write_again(self, prepared: Prepared) -> None:
        """Give the answer up for a second one."""
        first = self.text.answer
        self.spent += len(first.tokens) + first.probe_tokens
        self.prepared, self.decided = prepared, 0

    def new_decisions(self) -> list[DecisionTaken]:
        """ESM's since the last call."""
        new = self.text.answer.decisions[self.decided :]
        self.decided += len(new)
        return new if ESM in self.parsed.chosen.levers else []

    def send_updates(self, decisions: list[DecisionTaken]) -> None:
        """Send these decisions, and the text that no later token can change. Nothing is sent before the end where there
        may be a second answer."""
        if self.prepared.again is not None:
            return
        for decision in decisions:
            self.send(decision)
        if self.text.echo and self.first is None:
            self._write(self.text.echo, self.text.prompt_scored)
        ready = settled(self.text)
        if len(ready) > self.sent:
            scored = self._scored_up_to(len(self.text.echo) + len(ready))
            self._write(ready[self.sent :], scored)
            self.sent = len(ready)
            self.reported += len(scored)

    def send_answer(self, answer: SteeredAnswer) -> None:
        """Send what a stream has not had yet, and the end."""
        text = answer.text[len(self.text.echo) + self.sent :]
        scored = (answer.scored or [])[len(self.text.prompt_scored) + self.reported :]
        if self.parsed.stream and (text or scored):
            self._write(text, scored)
        self.send(answer)

    def _scored_up_to(self, end: int) -> list[ScoredToken]:
        """Further tokens that end before this character."""
        further = self.text.scored[self.reported :] if self.parsed.stream else []
        return [token for token in further if token.offset + len(token.text) <= end]

    def _write(self, text: str, scored: list[ScoredToken]) -> None:
        self.send(Written(text, scored))
        if self.first is None:
            self.first = time.monotonic() - self.began


def settled(text: InFlight) -> str:
    """What is written for good: without half a letter at the end, and without what may become a stop string."""
    written = text.text
    if text.finish:
        return written
    written = written.rstrip("\ufffd")
    for count in range(min(len(written), max((len(stop) for stop in text.stops), default=0)), 0, -1):
        if any(stop.startswith(written[-count:]) for stop in text.stops):
            return written[:-count]
    return written
