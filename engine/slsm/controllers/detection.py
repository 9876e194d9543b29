"""Conflicts of an answer with checkable constraints."""

from __future__ import annotations

from collections.abc import Iterable

from engine.slsm.checks.checks import parse_check
from engine.slsm.controllers.controller import Conflict
from engine.slsm.note import flat_statements
from engine.slsm.state import Constraint


def exact_conflicts(constraints: Iterable[Constraint], answer: str) -> list[Conflict]:
    """A conflict for each checkable constraint that `answer` breaks."""
    return [
        Conflict(constraint.id, f"{check.fault}: {constraint.text}", exact=True)
        for constraint in constraints
        if (check := parse_check(constraint.text)) is not None and not check.holds(answer)
    ]


def flat_constraints(memory_text: str) -> list[Constraint]:
    """The checkable sentences of a flat memory, as constraints."""
    return [Constraint(id=text, text=text) for text in flat_statements(memory_text) if parse_check(text)]
