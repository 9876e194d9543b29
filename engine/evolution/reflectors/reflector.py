"""The reflectors' protocol: their input and their reply (spec Evolution 4.1, 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.evolution.clusters.descriptions import Descriptions
from engine.evolution.deltas import Deltas
from engine.evolution.history import History
from engine.servers.completion import Problems
from engine.servers.spent import AskFailed, Spent


@dataclass(frozen=True)
class JudgedAnswer:
    """One answer of the minibatch. `clusters`: the cluster of each of its tokens, without the end token;
    `correct` None: it was not judged."""

    example: str
    text: str
    tokens: int
    correct: bool | None
    reasoning: str
    clusters: Sequence[int] = ()


@dataclass(frozen=True)
class ReflectorInput:
    """Everything a reflector may know: never example deltas (spec Evolution 4.1)."""

    iteration: int
    deltas: Deltas
    descriptions: Descriptions
    answers: Sequence[JudgedAnswer]
    history: History


@dataclass(frozen=True)
class ReflectorReply:
    """New deltas for exactly the known clusters, and what the reflector learnt, in two to four sentences; as kept in
    `reflector_reply_NNN.json`. `aborted`: why there are no deltas; `refused`: what was wrong with earlier replies."""

    deltas: Deltas
    summary: str
    raw: str = ""
    aborted: str = ""
    usage: Spent = Spent()
    refused: Sequence[Problems] = ()

    @property
    def attempts(self) -> int:
        """Replies until this one, itself included; 1 also where there was none."""
        return max(1, len(self.refused) + (not self.aborted))


class ReflectorFailed(AskFailed):
    """The reflector gave no valid reply: the iteration ends without new deltas. `refused`: what was wrong with each
    reply."""

    refused: Sequence[Problems] = ()


class Reflector(Protocol):
    """Proposes deltas."""

    name: str

    def reflect(self, given: ReflectorInput, message: str) -> ReflectorReply:
        """`message`: system and user message as they are logged and sent. Raises ReflectorFailed."""
        ...
