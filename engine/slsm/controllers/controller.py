"""What keeps the state of a conversation and looks for conflicts: the protocol (spec SLSM)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.servers.spent import Spent
from engine.slsm.controllers.diff import StateDiff
from engine.slsm.state import State
from engine.slsm.turns import Turn


@dataclass(frozen=True)
class Update:
    """The state after a turn. `diff`: what changed, in the structured mode. `failure`: why the state before it still
    stands, if it does. `calls` counts the turn once, however often a server was asked; `spent` is everything."""

    state: State
    diff: StateDiff | None = None
    failure: str = ""
    spent: Spent = Spent(1)


@dataclass(frozen=True)
class Conflict:
    """`item`: id or words of what the answer goes against; `why`: how. `exact`: found by a check, not by judgement."""

    item: str
    why: str
    exact: bool


@dataclass(frozen=True)
class Detection:
    """What is wrong with an answer. `failure`: why nothing but the exact checks could be asked."""

    conflicts: tuple[Conflict, ...] = ()
    failure: str = ""
    spent: Spent = Spent(1)


class Controller(Protocol):
    """Follows one conversation at a time; keeps nothing between calls. May be used from several threads."""

    name: str

    def update(self, state: State, turns: Sequence[Turn]) -> Update:
        """The state after the last of `turns`, from `state` after those before. Never raises for what a model said."""
        ...

    def detect(self, state: State, turns: Sequence[Turn], answer: str) -> Detection:
        """Whether `answer` to the last of `turns` goes against `state`. Never raises for what a model said."""
        ...
