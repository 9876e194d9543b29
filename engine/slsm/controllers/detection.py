"""Conflicts of an answer with a state that can be found exactly."""

from __future__ import annotations

from collections.abc import Iterable

from engine.slsm.checks.checks import parse_check
from engine.slsm.controllers.controller import Conflict
from engine.slsm.note import flat_statements
from engine.slsm.state import Constraint


def exact_conflicts(constraints: Iterable[Constraint], answer: str) -> list[Conflict]:
    """Checkable constraints that `answer` does not keep."""
    found: list[Conflict] = []
    for constraint in constraints:
        check = parse_check(constraint.text)
        if check is not None and not check.holds(answer):
            found.append(Conflict(constraint.id, f"{check.fault}: {constraint.text}", exact=True))
    return found


def flat_constraints(memory_text: str) -> list[Constraint]:
    """The sentences of a flat memory, as constraints: those that are none check nothing."""
    return [Constraint(id=text, text=text) for text in flat_statements(memory_text) if parse_check(text)]
