"""The tab Results: the methods' figures, the running accuracy and the tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.getters import query_one
from textual.message import Message
from textual.widgets import Static

from app.figures import fixed, interval, probability, signed
from app.methods.chart import Series
from app.state.esm import METHOD, ESMState
from app.table.column import Cell, ListColumn
from app.text import counted
from engine.config.esm_methods import METHODS
from engine.events import MethodEvaluated
from engine.wilson import wilson
from screens.run_session import Session
from screens.widgets.chart import Chart
from screens.widgets.detail_pane import DetailPane
from screens.widgets.rows import ListSource
from screens.widgets.virtual_table import VirtualTable

_EMPTY = """No method has been evaluated yet.

Every method of the eval stage gets a row here after its first examples. Its figures, compared
with greedy on the same examples, are running until the method is finished."""

_BETWEEN, _HALF = 4, 62


def _difference(row: MethodEvaluated) -> Cell:
    if row.difference is None:
        return Cell(fixed(None), "dim")
    sure = row.low is not None and row.high is not None and (row.low > 0 or row.high < 0)
    return Cell(signed(row.difference), ("good" if row.difference > 0 else "bad") if sure else "")


METHOD_COLUMNS: Sequence[ListColumn[MethodEvaluated]] = (
    ListColumn("method", "method", 17, priority=0, value=lambda r: r.method),
    ListColumn("n", "n", 5, "right", 1, help="examples", value=lambda r: r.n),
    ListColumn("accuracy", "accuracy", 8, "right", 0, help="share of answers that are right",
               value=lambda r: r.accuracy, show=fixed),
    ListColumn("wilson", "its 95%", 14, "right", 6, help="Wilson interval of the accuracy",
               value=lambda r: wilson(round(r.accuracy * r.n), r.n),
               show=lambda pair: f"[{fixed(pair[0])}, {fixed(pair[1])}]"),
    ListColumn("difference", "− greedy", 8, "right", 0, help="accuracy minus greedy's over the same examples",
               value=lambda r: r, show=_difference),
    ListColumn("interval", "95% interval", 16, "right", 2,
               help="of the difference: paired bootstrap over these problems, with this memory",
               value=lambda r: (r.low, r.high), show=lambda pair: interval(*pair)),
    ListColumn("p", "p", 6, "right", 5, help="McNemar, exact, two-sided", value=lambda r: r.p, show=probability),
    ListColumn("fixed", "▲", 4, "right", 1, help="right where greedy is wrong", value=lambda r: r.fixed),
    ListColumn("broken", "▼", 4, "right", 1, help="wrong where greedy is right", value=lambda r: r.broken),
    ListColumn("tokens", "committed", 9, "right", 3, help="committed tokens per answer",
               value=lambda r: r.mean_tokens, show=lambda v: fixed(v, 1)),
    ListColumn("probe", "probe", 7, "right", 4,
               help="probe tokens per answer; of majority_vote, those of its other samples",
               value=lambda r: r.mean_probe_tokens, show=lambda v: fixed(v, 1)),
    ListColumn("speed", "tok/s", 7, "right", 8, help="committed and probe tokens per second",
               value=lambda r: r.tokens_per_second, show=lambda v: f"{v:,.0f}"),
    ListColumn("final", "figures", 7, priority=7, help="running until the method is finished",
               value=lambda r: r.final, show=lambda final: Cell("final") if final else Cell("running", "warn")),
)  # fmt: skip


class ResultsPane(Vertical):
    """Table above, chart and budget below."""

    @dataclass
    class DecisionsWanted(Message):
        """Show the decisions that match a filter."""

        filter: str

    table = query_one(VirtualTable)
    chart = query_one(Chart)
    budget = query_one(DetailPane)
    line = query_one(".pane-status", Static)

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._session = session
        self.source: ListSource[MethodEvaluated] = ListSource(METHOD_COLUMNS, "methods")
        self._rows: list[MethodEvaluated] = []
        self._begun = False

    def compose(self) -> ComposeResult:
        yield VirtualTable(self.source, _EMPTY, follow=False)
        yield Static("", classes="pane-status", markup=False)
        with Container(id="results-body"):
            yield Chart("accuracy so far, share of answers right", "examples")
            yield DetailPane()

    def show(self) -> None:
        """Draw the session's state."""
        state = self._session.state.esm
        rows = state.methods
        self.source.show(rows)
        self.table.refresh_rows()
        self.table.styles.height = max(7, min(len(rows), 12) + 1) if not rows else min(len(rows), 12) + 1
        if not self._begun and self.table.over:
            self._begun = True
            if not self.table.cursor:  # else somebody reads another row
                self.table.begin_at(next((at for at, row in enumerate(rows) if row.method == METHOD), 0))
        self._show_status()
        self.chart.show_series(_series(state))
        if rows != self._rows:
            self._rows = rows
            self.budget.show(lambda palette, width: _figures(rows, palette, width), top=False)

    @on(VirtualTable.Highlighted)
    @on(VirtualTable.Changed)
    def _show_status(self) -> None:
        """The method under the cursor in words, and what `enter` shows; or the marked column."""
        if not len(self.source):
            self.line.update("")
            return
        row, column = self.source.item(min(self.table.cursor, len(self.source) - 1)), self.table.marked_column
        parts = [f"{row.method}: {METHODS[row.method].about}"] if row.method in METHODS else [row.method]
        if column is not None and column.help:
            parts = [f"{column.label}: {column.help}"]
        if turned := row.fixed + row.broken:
            parts.insert(0, f"enter: {counted(turned, 'answers')} ▲▼")
        self.line.update(Text("  │  ".join(parts), no_wrap=True, overflow="ellipsis"))

    @on(VirtualTable.Selected)
    def _opened(self, message: VirtualTable.Selected) -> None:
        """From a method to the decisions behind its difference."""
        message.stop()
        method = self.source.item(message.row).method
        if (why := self._why_not(method)) is not None:
            self.notify(why, markup=False)
            return
        self.post_message(self.DecisionsWanted(f"method:{method} differs"))

    def _why_not(self, method: str) -> str | None:
        """Why there is no decision to show; None where there are some."""
        state = self._session.state.esm
        row = next(row for row in state.methods if row.method == method)
        if method == "greedy":
            return "greedy decides nothing, it is what the others are compared with: choose another method."
        number = state.names.find(method)
        if number is None or number not in state.decisions.column("method")[: len(state.decisions)]:
            return f"{method} writes its answers without decisions: there are none to show."
        if not row.fixed and not row.broken:
            return f"{method} comes out as greedy does on every example so far: no decision differs."
        return None

    def close_one(self) -> bool:
        """Nothing opens here."""
        return False


def _series(state: ESMState) -> list[Series]:
    """The running accuracy of greedy and of esm."""
    series = []
    for method in ("esm", "greedy"):
        curve = state.curves.get(method)
        if curve is not None:
            points = curve[:]
            series.append(Series(method, [p.n for p in points], [p.accuracy for p in points]))
    return series


def _figures(rows: Sequence[MethodEvaluated], palette: dict[str, Style], width: int) -> RenderableType:
    """The difference of esm to greedy in a line, then tokens and accuracies."""
    esm = next((row for row in rows if row.method == "esm" and row.difference is not None), None)
    above = [] if esm is None else [_gain(esm, rows, palette), Text()]
    half = (width - _BETWEEN) // 2
    if half < _HALF:
        return Group(*above, _tokens(rows, palette, width), Text(), _intervals(rows, palette, width))
    abreast = Table.grid(padding=(0, _BETWEEN, 0, 0))
    abreast.add_row(_tokens(rows, palette, half), _intervals(rows, palette, half))
    return Group(*above, abreast)


def _tokens(rows: Sequence[MethodEvaluated], palette: dict[str, Style], width: int) -> Table:
    """Tokens per answer, █ committed, ░ probe."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    for _ in range(3):
        table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    head = ("tokens per answer", "committed", "probe", "total", "█ committed  ░ probe")
    table.add_row(*(Text(text, palette["dim"]) for text in head))
    most = max((row.mean_tokens + row.mean_probe_tokens for row in rows), default=1.0) or 1.0
    room = max(6, min(60, width - 52))
    for row in rows:
        bar = Text("█" * round(row.mean_tokens / most * room), palette["accent"])
        bar.append("░" * round(row.mean_probe_tokens / most * room), palette["dim"])
        total = row.mean_tokens + row.mean_probe_tokens
        table.add_row(
            row.method, fixed(row.mean_tokens, 1), fixed(row.mean_probe_tokens, 1), fixed(total, 1), bar
        )
    return table


def _intervals(rows: Sequence[MethodEvaluated], palette: dict[str, Style], width: int) -> Table:
    """Each accuracy and its Wilson interval between 0 and 1, one below the other, so that they are compared."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(no_wrap=True)
    room = max(12, min(60, width - 34))
    scale = "0" + "0.5".center(room - 2) + "1"
    table.add_row(*(Text(text, palette["dim"]) for text in ("accuracy, 95%", "", scale)))
    for row in rows:
        low, high = (round(end * (room - 1)) for end in wilson(round(row.accuracy * row.n), row.n))
        at = round(row.accuracy * (room - 1))
        line = Text("·" * low + "━" * (high - low + 1) + "·" * (room - high - 1), palette["dim"])
        line.stylize(palette["accent"], low, high + 1)
        line = Text.assemble(line[:at], ("●", palette["strong"]), line[at + 1 :])
        table.add_row(row.method, fixed(row.accuracy), line)
    return table


def _gain(row: MethodEvaluated, rows: Sequence[MethodEvaluated], palette: dict[str, Style]) -> Text:
    return Text.assemble(
        ("esm − greedy ", palette["dim"]),
        (signed(row.difference), palette["strong"]),
        f" {interval(row.low, row.high)}  p {probability(row.p)}",
        f"  ▲{row.fixed} fixed  ▼{row.broken} broken",
        ("" if row.final else "  running", palette["warn"]),
        ("\ntokens of an answer ", palette["dim"]),
        f"{fixed(row.mean_tokens, 1)} committed + {fixed(row.mean_probe_tokens, 1)} probe",
        *(f", greedy {fixed(other.mean_tokens, 1)}" for other in rows if other.method == "greedy"),
    )
