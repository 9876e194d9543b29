"""Decisions as rows of the virtual table."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from app.state.decisions import NULL
from app.state.esm import ESMState
from app.table.decision_rows import DECISION_FIELDS
from app.table.decision_view import DecisionView
from app.table.filter import Expression, Predicate, predicate, words
from screens.widgets.figures import against_greedy, fixed, outcome, signed
from screens.widgets.rows import Cell, Column, RowSource, Tone

COLUMNS = (
    Column("method", "method", 10, priority=5, flex=True, help="greedy, esm or an ablation of it"),
    Column("example", "example", 9, priority=1, flex=True, name=True, help="the example's id"),
    Column("m", "m", 2, "right", 1, help="segment decided, from 1"),
    Column("memory", "mem", 4, "right", 13, help="entries searched"),
    Column("sim", "sim", 6, "right", 9, help="similarity of the nearest entry"),
    Column("best", "best Â", 6, "right", 10, help="best similarity × quality of an injectable entry"),
    Column("null", "null Â", 6, "right", 11, help="the same of the nearest right entry: it speaks for null"),
    Column("chosen", "chosen", 10, priority=2, flex=True, name=True, help="entry injected, or null"),
    Column("gate", "gate", 13, priority=6, help="the rule that settled it"),
    Column("dlogprob", "Δlogp", 6, "right", 8, help="probe's mean log-probability minus null's"),
    Column("score", "Score", 6, "right", 4, help="β Â + ρ Δlogp of the chosen entry"),
    Column("alpha", "α", 6, "right", 3, help="injected scale: k_scale × Score"),
    Column("committed", "tok", 3, "right", 7, help="tokens of the committed segment"),
    Column("probe", "prb", 3, "right", 12, help="tokens spent on probes"),
    Column("correct", "✓", 1, help="✓ the example came out right, ✗ wrong, · not known yet"),
    Column("differs", "≠", 1, help="▲ right where greedy is wrong, ▼ wrong where greedy is right"),
)


class DecisionSource(RowSource):
    """The rows of a `DecisionView`; `find_expression` marks rows without hiding the others."""

    columns = COLUMNS
    noun = "decisions"

    def __init__(self, state: ESMState) -> None:
        self.view = DecisionView(state)
        self._find: Expression | None = None
        self._match: Predicate | None = None
        self._words: tuple[str, ...] = ()

    @property
    def state(self) -> ESMState:
        """The state that the rows are of."""
        return self.view.rows.state

    def update(self, state: ESMState) -> bool:
        """Take in a newer, older or other state. Whether rows changed."""
        before = self.view.rows
        changed = self.view.update(state)
        if self.view.rows is not before:
            self._rematch()
        return changed

    def filter(self, expression: Expression | None) -> None:
        """Show only rows that match."""
        self.view.filter(expression)
        self.view.update(self.state)
        self._rematch()

    def find_expression(self, expression: Expression | None) -> None:
        """Mark the rows that match."""
        self._find = expression
        self._rematch()

    def _rematch(self) -> None:
        self._match = None if self._find is None else predicate(self._find, self.view.rows)
        self._words = tuple(words(self._find) + words(self.view.expression))

    # ------------------------------------------------------------ RowSource

    def __len__(self) -> int:
        return len(self.view)

    def cells(self, row: int) -> tuple[Cell, ...]:
        decision = self.view.decision(row)
        state = self.state
        d = state.decisions
        steered = d.column("chosen")[decision] != NULL
        shown: Tone = "" if steered else "dim"
        correct, sign = self.view.rows.outcome(decision), self.view.rows.against_greedy(decision)
        alpha = d.column("alpha")[decision]
        return (
            Cell(d.text("method", decision)),
            Cell(d.text("example", decision)),
            Cell(str(d.column("m")[decision])),
            Cell(str(d.column("memory_size")[decision]), "dim"),
            Cell(fixed(d.column("top_similarity")[decision])),
            Cell(fixed(d.column("best_ahat")[decision])),
            Cell(fixed(d.column("null_ahat")[decision])),
            Cell(d.text("chosen", decision), "accent" if steered else "dim"),
            Cell(d.text("gate", decision), shown),
            Cell(signed(d.column("delta_logprob")[decision]), shown),
            Cell(fixed(d.column("score")[decision]), shown),
            Cell(fixed(alpha) if steered else fixed(None), "strong" if steered else "dim"),
            Cell(str(d.column("committed_tokens")[decision])),
            Cell(str(d.column("probe_tokens")[decision]), "dim"),
            Cell(outcome(correct), "dim" if correct is None else "good" if correct else "bad"),
            Cell(against_greedy(sign), "good" if sign == 1 else "bad"),
        )

    def values(self, row: int) -> Sequence[object]:
        decision = self.view.decision(row)
        return [self.view.rows.getter(column.key)(decision) for column in COLUMNS]

    def offset(self, row: int) -> int | None:
        return self.state.decisions.place(self.view.decision(row)).offset

    def key(self, row: int) -> Hashable:
        return self.view.decision(row)

    def find(self, key: Hashable) -> int | None:
        return self.view.find(key) if isinstance(key, int) else None

    def sort(self, column: str | None, reverse: bool) -> None:
        self.view.sort(column if column in DECISION_FIELDS else None, reverse)

    def is_match(self, row: int) -> bool:
        return self._match is not None and bool(self._match(self.view.decision(row)))

    @property
    def finding(self) -> bool:
        """Whether something is marked."""
        return self._match is not None

    def disagrees(self, row: int) -> bool:
        """Whether the row's example came out otherwise than under greedy."""
        return bool(self.view.rows.against_greedy(self.view.decision(row)))

    @property
    def words(self) -> Sequence[str]:
        return self._words
