"""Conflicts of an answer with checkable constraints, in the controller's place or beside it (`slsm.detector`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.servers.spent import Spent
from engine.slsm.checks.checks import parse_check
from engine.slsm.controllers.controller import Conflict, Detection, MemoryController, Update
from engine.slsm.note import flat_statements
from engine.slsm.state import Constraint, SemanticState, State
from engine.slsm.turns import Turn


class CheckedController:
    """A controller whose detections rest on exact checks: alone, or (`ask`) beside what the controller finds. Then the
    checks decide the constraints that can be checked, and the controller everything else."""

    def __init__(self, controller: MemoryController, *, ask: bool) -> None:
        self.name = controller.name
        self._controller = controller
        self._ask = ask

    def update(self, state: State, turns: Sequence[Turn]) -> Update:
        return self._controller.update(state, turns)

    def detect(self, state: State, turns: Sequence[Turn], answer: str) -> Detection:
        constraints = constraints_of(state)
        exact = exact_conflicts(constraints, answer)
        if not self._ask:
            return Detection(tuple(exact), spent=Spent())
        checked = {item.id for item in constraints if parse_check(item.text) is not None}
        asked = self._controller.detect(state, turns, answer)
        others = (claim for claim in asked.conflicts if claim.item not in checked)
        return replace(asked, conflicts=(*exact, *others))


def exact_conflicts(constraints: Iterable[Constraint], answer: str) -> list[Conflict]:
    """A conflict for each checkable constraint that `answer` breaks."""
    return [
        Conflict(constraint.id, f"{check.fault}: {constraint.text}", exact=True)
        for constraint in constraints
        if (check := parse_check(constraint.text)) is not None and not check.holds(answer)
    ]


def constraints_of(state: State) -> Sequence[Constraint]:
    """The constraints of a structured state; the checkable sentences of a flat memory, as constraints."""
    if isinstance(state, SemanticState):
        return state.constraints
    return [
        Constraint(id=text, text=text) for text in flat_statements(state.memory_text) if parse_check(text)
    ]
