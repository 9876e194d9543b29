"""Decisions as rows that can be filtered, sorted and searched."""

from __future__ import annotations

from collections.abc import Callable

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
        columns = [decisions.column(name) for name in ("example", "method", "gate", "chosen")]
        examples, texts = columns[0], decisions.names.texts
        named: dict[int, bool] = {NULL: word in "null"}
        asked: dict[str, bool] = {}

        def test(row: int) -> bool:
            for column in columns:
                number = column[row]
                matches = named.get(number)
                if matches is None:
                    text = texts[number]
                    matches = named[number] = word in text.lower() or word in entry_name(text).lower()
                if matches:
                    return True
            text = question(texts[examples[row]])
            matches = asked.get(text)
            if matches is None:
                matches = asked[text] = word in text.lower()
            return matches

        return test
