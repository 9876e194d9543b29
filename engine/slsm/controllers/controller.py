"""The protocol of controllers: they keep a conversation's state and look for conflicts (spec SLSM)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.events import AnswerConflict as Conflict
from engine.servers.client import ServerFailed
from engine.servers.spent import Spent
from engine.slsm.controllers.diff import StateDiff
from engine.slsm.state import State
from engine.slsm.turns import Turn


@dataclass(frozen=True)
class Update:
    """The state after a turn. `diff`: its changes, in the structured mode; `failure`: why the update was lost and the
    earlier state stays, else ""; `suspect`: the server's failure, where it may fail at every turn; `spent`: of all
    requests."""

    state: State
    diff: StateDiff | None = None
    failure: str = ""
    spent: Spent = Spent(1)
    suspect: ServerFailed | None = None


@dataclass(frozen=True)
class Detection:
    """Conflicts of an answer. `failure`: why the controller found none, else ""; `suspect`: the server's failure, where
    it may fail at every detection; `spent`: no call where only exact checks were made."""

    conflicts: tuple[Conflict, ...] = ()
    failure: str = ""
    spent: Spent = Spent(1)
    suspect: ServerFailed | None = None


class MemoryController(Protocol):
    """Keeps no state of its own between calls; several threads may call it."""

    name: str

    def update(self, state: State, turns: Sequence[Turn]) -> Update:
        """The state after the last of `turns`, from the `state` before it. A bad reply of a model never raises."""
        ...

    def detect(self, state: State, turns: Sequence[Turn], answer: str) -> Detection:
        """Conflicts of `answer`, to the last of `turns`, with `state`. A bad reply of a model never raises."""
        ...


class NoController:
    """In a controller's place where no mode keeps a memory."""

    name = "none"

    def update(self, state: State, turns: Sequence[Turn]) -> Update:
        return Update(state, spent=Spent())

    def detect(self, state: State, turns: Sequence[Turn], answer: str) -> Detection:
        return Detection(spent=Spent())
