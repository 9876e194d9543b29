"""The tab Iterations: charts above, a row for each iteration below, and the iteration under the cursor in full."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.getters import query_one

from app.figures import fixed
from app.methods.chart import Series
from app.state.evolution import EvolutionState, IterationState
from app.table.column import Cell, ListColumn
from app.text import counted
from engine.events import AnswersScored
from screens.evolution.iteration_drawing import draw_iteration
from screens.run_session import Session
from screens.widgets.chart import Chart
from screens.widgets.detail_pane import DetailPane
from screens.widgets.rows import ListSource
from screens.widgets.steady import Steady
from screens.widgets.virtual_table import VirtualTable

_EMPTY = """No iteration has started yet.

First the vocabulary is divided into clusters; a validation set, where there is one, is answered
once without a processor. After that every iteration gets a row here: the scores of its answers,
and the state of the reflector's reply."""


def _of(score: AnswersScored | None, name: str, digits: int = 3) -> Cell:
    return Cell(fixed(None), "dim") if score is None else Cell(fixed(getattr(score, name), digits))


def _state(item: IterationState) -> Cell:
    if item.reply is not None and item.reply.aborted:
        return Cell("aborted", "bad")
    if item.inherited:
        return Cell("inherited", "dim")
    if item.finished:
        return Cell("✓", "good")
    return Cell("reflecting" if item.minibatch is not None else "answering", "warn")


COLUMNS: Sequence[ListColumn[IterationState]] = (
    ListColumn("iteration", "#", 3, "right", 0, value=lambda i: i.iteration),
    ListColumn(
        "best", "★", 1, priority=1, help="kept as best: the highest composite so far", value=lambda i: i.best,
        show=lambda best: Cell("★" if best else " ", "accent"),
    ),
    ListColumn(
        "composite", "composite", 9, "right", 0, help="0.4 shortness + 0.6 correctness, minibatch",
        value=lambda i: i.minibatch, show=lambda s: _of(s, "composite"),
    ),
    ListColumn(
        "correctness", "correct", 7, "right", 1, help="share of judged answers, minibatch",
        value=lambda i: i.minibatch, show=lambda s: _of(s, "correctness"),
    ),
    ListColumn(
        "tokens", "tokens", 7, "right", 2, help="mean length of an answer, minibatch",
        value=lambda i: i.minibatch, show=lambda s: _of(s, "mean_tokens", 1),
    ),
    ListColumn(
        "validation", "validated", 9, "right", 3, help="composite on the fixed validation set, where it decides",
        value=lambda i: i.validation, show=lambda s: _of(s, "composite"),
    ),
    ListColumn(
        "validation_correctness", "v.correct", 9, "right", 5, help="correctness on the validation set",
        value=lambda i: i.validation, show=lambda s: _of(s, "correctness"),
    ),
    ListColumn(
        "validation_tokens", "v.tokens", 8, "right", 6, help="mean length on the validation set",
        value=lambda i: i.validation, show=lambda s: _of(s, "mean_tokens", 1),
    ),
    ListColumn("state", "state", 10, priority=4, value=lambda i: i, show=_state),
)  # fmt: skip


class IterationsPane(Container):
    """Charts, table, detail."""

    table = query_one(VirtualTable)
    detail = query_one(DetailPane)
    line = query_one(".pane-status", Steady)

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="-charted")
        self._session = session
        self.source: ListSource[IterationState] = ListSource(COLUMNS, "iterations")
        self._shown: object = None
        self._begun = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="pane-table"):
            with Container(classes="charts"):
                yield Chart("scores of the answers, 0 to 1", "iteration", id="scores-chart")
                yield Chart("length of an answer, tokens", "iteration", id="length-chart")
            yield VirtualTable(self.source, _EMPTY)
            yield Steady(classes="pane-status")
        yield DetailPane()

    @property
    def selected(self) -> IterationState | None:
        """The iteration under the cursor."""
        return self.source.item(min(self.table.cursor, len(self.source) - 1)) if len(self.source) else None

    def show(self) -> None:
        """Draw the session's state."""
        state = self._session.state.evolution
        self.source.show(list(state.iterations.values()))
        self.table.refresh_rows()
        self._begin(state)
        self.query_one("#scores-chart", Chart).show_series(_scores(state))
        self.query_one("#length-chart", Chart).show_series(_lengths(state))
        self.line.update(Text(_status(state), no_wrap=True, overflow="ellipsis"))
        self._show_detail()

    def _begin(self, state: EvolutionState) -> None:
        """A run that is over is read from its best iteration on; a live one is followed."""
        if not len(self.source):
            return
        if not self._begun and self.table.over:
            self._begun = True
            if not self.table.follow or self.has_class("-open"):  # somebody reads a row
                return
            best = state.best
            self.table.begin_at(0 if best is None else list(state.iterations).index(best.iteration))

    @on(VirtualTable.Highlighted)
    def _show_detail(self) -> None:
        state, item = self._session.state.evolution, self.selected
        key = (item, len(state.compared), len(state.judge))
        if key != self._shown:
            self._shown = key
            top = item is None
            self.detail.show(lambda palette, width: draw_iteration(state, item, palette), top=top, links=True)

    @on(VirtualTable.Selected)
    def open(self) -> None:
        """Give the detail all the room."""
        self.add_class("-open")
        self.detail.focus()

    def close_one(self) -> bool:
        """Close the opened detail; False if there was none."""
        was_open = self.has_class("-open")
        if was_open:
            self.remove_class("-open")
            self.table.focus()
        return was_open


def _scores(state: EvolutionState) -> list[Series]:
    items = [item for item in state.iterations.values() if item.minibatch is not None]
    validated = [item for item in items if item.validation is not None]
    best = [(item, score) for item in items if item.best and (score := state.deciding(item)) is not None]
    tried = (
        [] if state.by_minibatch else [_series("validated", validated, lambda i: i.validation.composite, "◇")]
    )
    return [
        _series("composite", items, lambda i: i.minibatch.composite),
        _series("correct", items, lambda i: i.minibatch.correctness),
        *tried,
        Series(
            "best", [i.iteration for i, _ in best], [score.composite for _, score in best], "★", points=True
        ),
    ]


def _lengths(state: EvolutionState) -> list[Series]:
    items = [item for item in state.iterations.values() if item.minibatch is not None]
    return [_series("mean", items, lambda i: i.minibatch.mean_tokens)]


def _series(label, items, value, point: str = "") -> Series:  # type: ignore[no-untyped-def]
    x, y = [item.iteration for item in items], [value(item) for item in items]
    return Series(label, x, y, point, points=bool(point))


def _status(state: EvolutionState) -> str:
    if state.began is None:
        return ""
    began = state.began
    parts = [f"{len(state.iterations)} of {counted(began.iterations, 'iterations')}"]
    best, before = state.best, state.baseline
    if best is not None and (score := state.deciding(best)) is not None:
        summary = f"★ iteration {best.iteration} is the best by {state.decided_on}: {score.composite:.3f}"
        gain = "" if state.by_minibatch or before is None else f", no deltas {before.composite:.3f}"
        parts.append(summary + gain)
    parts.append(f"{began.reflector}, {began.judge}{_judge_words(state)}")
    if state.usage is not None and state.usage.calls:
        calls, tokens = counted(state.usage.calls, "calls"), counted(state.usage.tokens, "tokens")
        parts.append(f"{calls}, {tokens}, cost {state.usage.cost:.2f}")
    return "  │  ".join(parts)


def _judge_words(state: EvolutionState) -> str:
    measured = state.judge.get("")
    return "" if measured is None else f": κ {fixed(measured.kappa, 2)} with people"
