"""The tab Decisions: the table, the decision under the cursor in full, and the filter line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.getters import query_one
from textual.timer import Timer

from app.figures import fixed, interval, signed
from app.runs.what_if import WhatIfProcess
from app.state.esm import ESMState
from app.table.decision_fields import DECISION_FIELDS
from app.table.filter import Expression
from app.table.filter_parser import parse
from app.table.suggest import reasons, values_of
from app.text import counted
from engine.errors import SteerError
from engine.events import DecisionTaken, Event, ExampleEvaluated
from screens.esm.chain import chain_of
from screens.esm.decision_detail import Decided, draw_decision
from screens.esm.decision_source import DecisionSource
from screens.run_session import Session
from screens.what_if.screen import WhatIfScreen
from screens.widgets.detail_pane import DetailPane
from screens.widgets.filter_bar import FilterBar
from screens.widgets.steady import Steady
from screens.widgets.virtual_table import VirtualTable

EMPTY = """No decision has been taken yet.

The eval stage decides at every control point of every example what to inject.
Each decision appears here as soon as it is taken, with all its candidates."""
NO_MATCH = "No decision matches the filter.\n\nPress / to change the filter, escape to remove it."
_DETAIL_EVERY = 0.3
_ROOMY = 110


class DecisionsPane(Container):
    """The table beside or above the detail; only the detail when it is opened."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "slash",
            "filter",
            "Filter",
            key_display="/",
            tooltip="Filter the decisions, or find some of them.",
        ),
        Binding(
            "d",
            "differ(1)",
            "Next ≠",
            tooltip="Next example that differs from greedy, where it left greedy's way.",
        ),
        Binding(
            "D",
            "differ(-1)",
            "Previous ≠",
            show=False,
            tooltip="Previous example that differs from greedy.",
        ),
        Binding(
            "left", "step(-1)", "Previous", show=False, tooltip="In an opened decision: previous decision."
        ),
        Binding(
            "right", "step(1)", "Next", key_display="←→", tooltip="In an opened decision: other decisions."
        ),
    ]

    table = query_one("#decisions", VirtualTable)
    detail = query_one("#decision", DetailPane)
    bar = query_one(FilterBar)
    line = query_one("#decisions-status", Steady)

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._session = session
        self.source = DecisionSource(session.state.esm)
        self._detailed: object = None
        self._decided: Decided | None = None
        self._filter_text = ""
        self._waiting: Timer | None = None
        self._begun = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="pane-table"):
            yield VirtualTable(self.source, EMPTY, id="decisions")
            yield FilterBar(DECISION_FIELDS, id="decisions-filter")
            yield Steady(id="decisions-status", classes="pane-status")
        yield DetailPane(id="decision")

    @property
    def busy(self) -> bool:
        """Whether a filter is still going through a long log."""
        return not self.source.view.complete

    def show(self) -> None:
        """Draw the session's state."""
        self.source.update(self._session.state.esm)
        self.table.empty = self._why_empty()
        self.table.refresh_rows()
        self._begin()
        self._show_detail()
        self._show_status()

    def _begin(self) -> None:
        """A run that is over is read from the first answer that esm turned, where it left greedy's way."""
        if not len(self.source) or not self.source.view.complete:
            return
        if not self._begun and self.table.over:
            self._begun = True
            if not self.table.follow or self.has_class("-open"):  # somebody reads a row
                return
            row = self.source.first_turned("esm")
            self.table.begin_at(0 if row is None else row)

    def _why_empty(self) -> str:
        view = self.source.view
        if not view.total:
            return EMPTY
        if len(view) or not view.complete:
            return NO_MATCH
        return "\n\n".join([*reasons(view.expression, partial(values_of, self.source.state)), NO_MATCH])

    # ------------------------------------------------------------ detail

    @on(VirtualTable.Highlighted)
    def _moved(self) -> None:
        if not self.table.follow and self._waiting is not None:
            self._waiting.stop()
            self._waiting = None
        self._show_detail()
        self._show_status()

    @on(VirtualTable.Changed)
    def _changed(self) -> None:
        self._show_status()

    @on(VirtualTable.Selected)
    def open(self) -> None:
        """Give the decision all the room."""
        self.add_class("-open")
        self.detail.focus()
        self.refresh_bindings()

    def action_step(self, by: int) -> None:
        """The decision before or after, while one is open."""
        self.table.go_to(self.table.cursor + by)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Stepping belongs to an opened decision; the table moves by itself."""
        return self.has_class("-open") if action == "step" else True

    def _show_detail(self) -> None:
        """Draw the detail; while following at most a few times a second, because drawing is slow."""
        if self._waiting is not None:
            return
        self._draw_detail()
        if self.table.follow:
            self._waiting = self.set_timer(_DETAIL_EVERY, self._waited)

    def _waited(self) -> None:
        self._waiting = None
        if self.table.follow:
            self._draw_detail()

    def _draw_detail(self) -> None:
        if not len(self.source):
            self._detailed = self._decided = None
            self.detail.show(None)
            return
        number = self.source.view.decision(min(self.table.cursor, len(self.source) - 1))
        # The state of the rows, not of the session, which may have been set back while another tab was shown.
        state = self.source.state
        place, method = state.decisions.place(number), state.decisions.text("method", number)
        example = state.decisions.text("example", number)
        outcomes = [state.outcomes.place(name, example) for name in (method, "greedy")]
        chain = chain_of(state, method, example)
        if self._detailed == (place, outcomes, chain):
            return
        same_decision = isinstance(self._detailed, tuple) and self._detailed[0] == place
        self._detailed = (place, outcomes, chain)
        try:
            decision, own, greedy = [where and self._session.read(*where) for where in (place, *outcomes)]
        except (OSError, SteerError) as error:
            problem = str(error)
            self.detail.show(lambda palette, width: Text(problem, palette["bad"]))
            return
        assert isinstance(decision, DecisionTaken)
        decided = Decided(
            state.named(decision), chain, state.question(example), _outcome(own), _outcome(greedy)
        )
        self._decided = decided
        self.detail.show(
            lambda palette, width: draw_decision(decided, palette, width), top=not same_decision, links=True
        )

    # ------------------------------------------------------------ what if

    def what_if(self, process: WhatIfProcess) -> WhatIfScreen | str:
        """The screen for another choice in the place of this one, or why there is none."""
        from screens.esm.what_if import DecisionWhatIf  # only those who ask need it

        decided = self._decided
        reason = "No decision is shown." if decided is None else _fixed(decided)
        if decided is None or decided.own is None or reason:
            return reason
        return DecisionWhatIf(process, decided.decision, decided.question, decided.own.gold)

    # ------------------------------------------------------------ filter

    def action_filter(self) -> None:
        """Type a filter."""
        self.add_class("-filtering")
        self.bar.open()

    @property
    def filter_text(self) -> str:
        """The filter as it was typed; nothing while rows are only marked."""
        return self.bar.input.value.strip() if self.source.view.expression is not None else ""

    def close(self) -> None:
        """Back to the table from an opened decision."""
        self.remove_class("-open")
        self.refresh_bindings()

    def filter_by(self, text: str) -> None:
        """Apply a filter as if it had been typed, at once. Raises FilterError."""
        self.bar.set(text)
        self._apply(parse(text, DECISION_FIELDS), text, finding=False)
        self.table.go_to(0)

    @on(FilterBar.Changed)
    def _filtered(self, message: FilterBar.Changed) -> None:
        self._apply(message.expression, message.text, message.finding)

    def _apply(self, expression: Expression | None, text: str, finding: bool) -> None:
        hide: Expression | None = None if finding else expression
        mark: Expression | None = expression if finding else None
        self._filter_text = text and f"{'find' if finding else 'filter'} {text}"
        if hide != self.source.view.expression:
            self.source.filter(hide)
        self.source.find_expression(mark)
        self.show()

    @on(FilterBar.Closed)
    def _filter_closed(self) -> None:
        self.remove_class("-filtering")
        self.table.focus()
        if self.source.finding and not self.source.is_match(self.table.cursor):
            self.table.action_match(1)
        self._show_status()

    def action_differ(self, by: int) -> None:
        """Go to the next decision of another example that differs from greedy."""
        d = self.source.state.decisions
        numbers = d.column("method"), d.column("example")
        view = self.source.view

        def example(row: int) -> tuple[int, ...]:
            return tuple(column[view.decision(row)] for column in numbers)

        here = example(self.table.cursor) if len(self.source) else ()
        if not self.table.seek(by, lambda row: self.source.turned(row) and example(row) != here):
            self.notify("No other example in this table differs from greedy.")

    def close_one(self) -> bool:
        """Close the opened decision, else remove the filter; False if there was neither."""
        if self.has_class("-open"):
            self.close()
            self.table.focus()
            return True
        had_filter = bool(self._filter_text)
        self.bar.clear()
        return had_filter

    # ------------------------------------------------------------ status

    def _show_status(self) -> None:
        self.line.update(self._status())
        self.bar.show_count(self._counted())

    def _counted(self) -> str:
        view = self.source.view
        shown = (f"{len(view):,} of " if view.expression is not None else "") + counted(
            view.total, "decisions"
        )
        return shown + ("" if view.complete else " (still searching)")

    def _status(self) -> Text:
        table = self.table
        parts = [self._counted()]
        if self._filter_text:
            parts.append(self._filter_text)
        if table.sort_column is not None:
            label = next(c.label for c in self.source.columns if c.key == table.sort_column)
            parts.append(f"sorted by {label} {'↓' if table.sort_reverse else '↑'}")
        elif table.follow and not self.table.over:
            parts.append("following")
        else:
            parts.append(f"row {table.cursor + 1:,}" if len(self.source) else "")
        if (column := table.marked_column) is not None and table.has_focus:
            known_as = "" if column.key == column.label else f" (filter {column.key})"
            parts.append(f"{column.label}{known_as}: {column.help}")
        elif table.size.width >= _ROOMY:
            parts.append("← → explain a column")
        text = Text("  │  ".join(filter(None, parts)), no_wrap=True, overflow="ellipsis")
        room = table.size.width - 5 - text.cell_len  # the line's own width is none while the filter is typed
        gain = next((gain for gain in _gains(self._session.state.esm) if len(gain) <= room), "")
        return text.append(" " * (room + 1 - len(gain)) + gain) if gain else text


def _gains(state: ESMState) -> Sequence[str]:
    """esm minus greedy so far, with its tokens, or greedy alone; several texts, the longest first."""
    row, greedy = state.running.get("esm"), state.running.get("greedy")
    if row is None or row.difference is None:
        return [f"greedy {fixed(greedy.accuracy)}  {fixed(greedy.mean_tokens, 1)} tokens"] if greedy else []
    difference = f"{signed(row.difference)} {interval(row.low, row.high)}"
    committed, probe = row.mean_tokens, row.mean_probe_tokens
    return [
        f"esm {fixed(row.accuracy)}  − greedy {difference}  tokens {committed:.1f} + {probe:.1f} probe",
        f"esm {fixed(row.accuracy)} Δ{difference} {committed:.0f}+{probe:.0f} tok",
        f"esm − greedy {difference}",
    ]


def _fixed(decided: Decided) -> str:
    """Why nothing else can be tried here; empty where it can."""
    if decided.decision.phase == "tail":
        return "What follows the last control point is never steered: choose an earlier segment."
    return "" if decided.own is not None else "This answer is not finished yet."


def _outcome(event: Event | None) -> ExampleEvaluated | None:
    return event if isinstance(event, ExampleEvaluated) else None
