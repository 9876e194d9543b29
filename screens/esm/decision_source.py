"""Decisions as rows of the virtual table."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from app.methods.cells import outcome_cell
from app.state.esm import ESMState
from app.table.column import Cell, Tone
from app.table.decision_fields import DECISION_FIELDS, sign_where_it_turned
from app.table.decision_view import DecisionView
from app.table.filter import Expression, words
from app.wording.figures import against_greedy, fixed, signed
from app.wording.words import short_method_name
from screens.widgets.tables.rows import ItemSource

COLUMNS = tuple(field.column for field in DECISION_FIELDS.values() if field.column is not None)


class _Look(NamedTuple):
    """What the look of a decision's cells depends on, whatever they show. `sign`: its example against greedy, in the
    segment that decided it."""

    steered: bool
    sign: int

    @property
    def tone(self) -> Tone:
        """Of what matters only where something was injected."""
        return "" if self.steered else "dim"


def _plain(value: Any, look: _Look) -> Cell:
    return Cell(fixed(value) if isinstance(value, float) else str(value))


def _dim(value: Any, look: _Look) -> Cell:
    return Cell(str(value), "dim")


_DRAW: Mapping[str, Callable[[Any, _Look], Cell]] = {
    "memory": _dim,
    "probe": _dim,
    "chosen": lambda name, look: Cell(name, "accent" if look.steered else "dim"),
    "method": lambda name, look: Cell(short_method_name(name)),
    "gate": lambda name, look: Cell(name.replace("_", " "), look.tone),
    "dlogprob": lambda value, look: Cell(signed(value), look.tone),
    "score": lambda value, look: Cell(fixed(value), look.tone),
    "alpha": lambda value, look: Cell(fixed(value), "strong") if look.steered else Cell(fixed(None), "dim"),
    "correct": lambda right, look: outcome_cell(right),
    "differs": lambda _, look: Cell(against_greedy(look.sign), "good" if look.sign == 1 else "bad"),
}
"""How a field is drawn, where it is not `_plain`."""
_DRAWN = tuple(_DRAW.get(column.key, _plain) for column in COLUMNS)
_SEARCHED = 200_000
"""Rows in which the first turned answer is looked for: beyond, it would be felt."""


class DecisionSource(ItemSource[int]):
    """The rows of a `DecisionView`: numbers of decisions."""

    columns = COLUMNS
    noun = "decisions"

    def __init__(self, state: ESMState) -> None:
        self.view = DecisionView(state)
        self._begin()

    @property
    def state(self) -> ESMState:
        """The state that the rows are of."""
        return self.view.rows.state

    def show(self, items: ESMState) -> None:
        """Take in a newer, older or other state."""
        before = self.view.rows
        self.view.update(items)
        if self.view.rows is not before:
            self._begin()

    def item(self, row: int) -> int:
        return self.view.decision(row)

    def filter(self, expression: Expression | None) -> None:
        """Show only rows that match."""
        self.view.filter(expression)
        self.view.update(self.state)

    def _begin(self) -> None:
        """Look at the rows of another state."""
        rows = self.view.rows
        self._getters = [rows.getter(column.key) for column in COLUMNS]
        self._steered, self._sign = rows.getter("steered"), sign_where_it_turned(rows.state)

    # ------------------------------------------------------------ RowSource

    def __len__(self) -> int:
        return len(self.view)

    def cells(self, row: int) -> tuple[Cell, ...]:
        decision = self.view.decision(row)
        look = _Look(bool(self._steered(decision)), self._sign(decision))
        return tuple(draw(get(decision), look) for draw, get in zip(_DRAWN, self._getters, strict=True))

    def values(self, row: int) -> Sequence[object]:
        decision = self.view.decision(row)
        return [get(decision) for get in self._getters]

    def offset(self, row: int) -> int | None:
        return self.state.decisions.place(self.view.decision(row)).offset

    def row_at(self, offset: int) -> int | None:
        decisions = self.state.decisions
        try:  # a decision that was taken again stands in the row of the first time
            return self.view.find(decisions.column("offset").index(offset, 0, len(decisions)))
        except ValueError:
            return None

    def key(self, row: int) -> Hashable:
        return self.view.decision(row)

    def find(self, key: Hashable) -> int | None:
        return self.view.find(key) if isinstance(key, int) else None

    def sort(self, column: str | None, reverse: bool) -> None:
        self.view.sort(column if column in DECISION_FIELDS else None, reverse)

    def turned(self, number: int) -> bool:
        """Whether a decision's example came out otherwise than under greedy, and this segment decided it."""
        return bool(self._sign(number))

    def first_turned(self, method: str) -> int | None:
        """The first row in which a method's answer left greedy's way and came out otherwise."""
        code, methods = self.state.names.get(method), self.state.decisions.column("method")
        numbers = enumerate(map(self.item, range(min(len(self), _SEARCHED))))
        return next((row for row, n in numbers if methods[n] == code and self.turned(n)), None)

    @property
    def words(self) -> Sequence[str]:
        return words(self.view.expression)
