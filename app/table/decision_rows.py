"""Decisions as rows that can be filtered, sorted and searched."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from app.state.decisions import NULL
from app.state.esm import ESMState
from app.table.decision_fields import DECISION_FIELDS
from app.table.filter import Rows, Value


class DecisionRows(Rows):
    """The decisions of a state, by number in the order of the log."""

    def __init__(self, state: ESMState) -> None:
        self.state = state

    def getter(self, field: str) -> Callable[[int], Value]:
        """Values of a field of `DECISION_FIELDS`."""
        return DECISION_FIELDS[field].getter(self.state)

    def mentions(self, word: str) -> Callable[[int], bool]:
        """Names on the row (example, method, gate, entry with its id) and the example's question are searched."""
        decisions, question, entry_name = self.state.decisions, self.state.question, self.state.entry_name
        names = ("example", "method", "gate", "chosen")
        examples, methods, gates, chosen = (decisions.column(name) for name in names)
        texts = decisions.names.texts

        @cache
        def in_name(number: int) -> bool:
            text = "null" if number == NULL else texts[number]
            return word in text.lower() or (number != NULL and word in entry_name(text).lower())

        @cache
        def in_question(example: int) -> bool:
            return word in question(texts[example]).lower()

        return lambda row: (
            in_name(examples[row])
            or in_name(methods[row])
            or in_name(gates[row])
            or in_name(chosen[row])
            or in_question(examples[row])
        )
