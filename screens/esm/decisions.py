"""The table of decisions: a long log is read in steps, and filtered by their fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.getters import query_one

from app.methods.cases import Cases
from app.methods.esm.chain import chain_of
from app.state.esm import GREEDY, METHOD, ESMState
from app.state.run import RunState
from app.table.column import Column
from app.table.decision_fields import DECISION_FIELDS
from app.table.filter import Expression
from app.table.filter_parser import parse
from app.wording.figures import fixed, interval, signed
from app.wording.text import counted
from engine.run.event_log import LogPlace
from screens.esm.decision_source import DecisionSource
from screens.panes.cases import CasesPane
from screens.run_session import Session
from screens.widgets.filter_bar import NO_ROW, FilterBar

NO_MATCH = NO_ROW.format("decision")


class DecisionsPane(CasesPane):
    """Decisions with a filter line."""

    source: DecisionSource
    BINDINGS = [
        Binding("slash", "filter", "Filter", tooltip="Filter the decisions."),
    ]  # fmt: skip

    bar = query_one(FilterBar)

    def __init__(self, session: Session, cases: Cases[Any], *, id: str) -> None:
        super().__init__(session, cases, DecisionSource(session.state.esm), id=id)
        self._filter_text = ""

    def below_table(self) -> ComposeResult:
        yield FilterBar(DECISION_FIELDS)

    @property
    def busy(self) -> bool:
        """Whether a filter is still going through a long log."""
        return not self.source.view.complete

    def items(self, state: RunState) -> Any:
        return state.esm

    def show(self) -> None:
        super().show()
        self.table.empty = NO_MATCH if self.source.view.total else self.cases.empty

    def _begin(self) -> None:
        if self.source.view.complete:
            super()._begin()

    def first_row(self) -> int:
        """The first answer that esm turned, where it left greedy's way."""
        return self.source.first_turned(METHOD) or 0

    def is_notable(self, item: int) -> bool:
        return self.source.turned(item)

    # ------------------------------------------------------------ the decision under the cursor

    def place(self, item: int) -> LogPlace:
        return self.source.state.decisions.place(item)

    def key(self, item: int) -> object:
        state = self.source.state
        method, example = (state.decisions.text(name, item) for name in ("method", "example"))
        outcomes = [state.outcomes.place(name, example) for name in (method, GREEDY)]
        return self.place(item), outcomes, chain_of(state, method, example)

    # ------------------------------------------------------------ filter

    def action_filter(self) -> None:
        """Type a filter."""
        self.add_class("-filtering")
        self.bar.open()

    @property
    def filter_text(self) -> str:
        """The filter as it was typed."""
        return self.bar.input.value.strip() if self.source.view.expression is not None else ""

    def filter_by(self, text: str) -> None:
        """Apply a filter as if it had been typed, at once. Raises FilterError."""
        self.bar.set(text)
        self._apply(parse(text, DECISION_FIELDS), text)
        self.table.go_to(0)

    @on(FilterBar.Changed)
    def _filtered(self, message: FilterBar.Changed) -> None:
        self._apply(message.expression, message.text)

    def _apply(self, expression: Expression | None, text: str) -> None:
        self._filter_text = text and f"filter {text}"
        if expression != self.source.view.expression:
            self.source.filter(expression)
        self.show()

    @on(FilterBar.Closed)
    def _filter_closed(self) -> None:
        self.remove_class("-filtering")
        self.table.focus()
        self.show_status()

    def close_one(self) -> bool:
        """Close the opened decision, else remove the filter; False if there was neither."""
        if super().close_one():
            return True
        had_filter = bool(self._filter_text)
        if self.table.over:  # the last match is not the newest decision: the cursor stays on it
            self.table.follow = False
        self.bar.clear()
        return had_filter

    # ------------------------------------------------------------ status

    def show_status(self) -> None:
        super().show_status()
        self.bar.show_count(self._number())

    def counted(self) -> str:
        return "  │  ".join(filter(None, (self._number(), self._filter_text)))

    def _number(self) -> str:
        view = self.source.view
        shown = f"{len(view):,} of " if view.expression is not None else ""
        return f"{shown}{counted(view.total, 'decisions')}{'' if view.complete else ' (still searching)'}"

    def about(self, column: Column) -> str:
        known_as = "" if column.key == column.label else f" (filter {column.key})"
        return f"{column.label}{known_as}: {column.help}"

    def remark(self) -> str:
        """The longest words about what esm gains so far that there is room for."""
        room = self.table.size.width - len(self.counted()) - 7
        return next((gain for gain in gains(self.session.state.esm) if len(gain) <= room), "")


def gains(state: ESMState) -> Sequence[str]:
    """esm minus greedy so far, with its tokens, or greedy alone; several texts, the longest first."""
    row, greedy = state.running.get(METHOD), state.running.get(GREEDY)
    if row is None or row.difference is None:
        return [f"greedy {fixed(greedy.accuracy)}  {fixed(greedy.mean_tokens, 1)} tokens"] if greedy else []
    difference = f"{signed(row.difference)} {interval(row.low, row.high)}"
    committed, probe = row.mean_tokens, row.mean_probe_tokens
    return [
        f"esm {fixed(row.accuracy)}  − greedy {difference}  tokens {committed:.1f} + {probe:.1f} probe",
        f"esm {fixed(row.accuracy)} Δ{difference} {committed:.0f}+{probe:.0f} tok",
        f"esm − greedy {difference}",
    ]
