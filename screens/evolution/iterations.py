"""The tab Iterations: charts above, a row for each iteration below, and the iteration under the cursor in full."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.getters import query_one

from app.state.evolution import EvolutionState, IterationState
from app.text import counted
from engine.events import AnswersScored, EvolutionBegan, JudgeMeasured, MethodCompared
from screens.evolution.cluster_words import cluster_words
from screens.run_session import Session
from screens.widgets.chart import Chart
from screens.widgets.detail_pane import DetailPane
from screens.widgets.figures import fixed, interval, probability, signed
from screens.widgets.links import Target, link
from screens.widgets.model_text import clean
from screens.widgets.rows import Cell, ListColumn, ListSource
from screens.widgets.series import Series
from screens.widgets.steady import Steady
from screens.widgets.virtual_table import VirtualTable

_EMPTY = """No iteration has started yet.

First the vocabulary is divided into clusters, then the validation set is answered once without a
processor. After that every iteration gets a row here: the scores of its answers, and the state
of the reflector's reply."""


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
        "best", "★", 1, priority=1, help="kept as best: validation confirmed it", value=lambda i: i.best,
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
        "validation", "validated", 9, "right", 3, help="composite on the fixed validation set",
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
        self.query_one("#scores-chart", Chart).show_series(_scores(state))
        self.query_one("#length-chart", Chart).show_series(_lengths(state))
        self.line.update(Text(_status(state), no_wrap=True, overflow="ellipsis"))
        self._show_detail()

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
    best = [item for item in validated if item.best]
    return [
        _series("composite", items, lambda i: i.minibatch.composite),
        _series("correct", items, lambda i: i.minibatch.correctness),
        _series("validated", validated, lambda i: i.validation.composite, "◇"),
        _series("best", best, lambda i: i.validation.composite, "★"),
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
    if best is not None and best.validation is not None:
        summary = f"best {best.iteration}: {best.validation.composite:.3f}"
        parts.append(summary + (f", {before.composite:.3f} without processor" if before is not None else ""))
    parts.append(f"{began.reflector}, {began.judge}{_judge_words(state)}")
    if state.usage is not None and state.usage.calls:
        calls, tokens = counted(state.usage.calls, "calls"), counted(state.usage.tokens, "tokens")
        parts.append(f"{calls}, {tokens}, cost {state.usage.cost:.2f}")
    return "  │  ".join(parts)


def _judge_words(state: EvolutionState) -> str:
    measured = state.judge.get("")
    return "" if measured is None else f": κ {fixed(measured.kappa, 2)} with people"


# ---------------------------------------------------------------- an iteration in full


def draw_iteration(
    state: EvolutionState, item: IterationState | None, palette: dict[str, Style]
) -> RenderableType:
    """The comparison at the end, if there is one, then an iteration: its scores, the reflector's reply, and the changed
    deltas; below it the judge's limits, and the comparison's differences."""
    parts: list[RenderableType] = []
    compared = list(state.compared.values())
    if compared:
        parts += [*_drawn(state, palette), _compared(compared, palette), Text()]
    if item is not None:
        parts += _iteration(state, item, palette)
    elif state.baseline is not None:
        parts.append(_figures("validation set, no processor", state.baseline, palette))
    if state.began is not None and state.began.cannot_tell:
        parts += [Text(), _cannot_tell(state.began, palette)]
    if state.judge:
        parts += [Text(), _judge(list(state.judge.values()), palette)]
    if compared:
        parts += [Text(), *_differences(compared, palette)]
    return Group(*parts)


def _iteration(
    state: EvolutionState, item: IterationState, palette: dict[str, Style]
) -> list[RenderableType]:
    title = Text.assemble((f"iteration {item.iteration}", palette["strong"]))
    answers = sum(score.answers for score in item.scores.values())
    if answers:
        title.append("  ").append_text(
            link(
                f"its {counted(answers, 'answers')}",
                Target("answers", str(item.iteration)),
                palette["accent"],
            )
        )
    if item.best:
        title.append("  ★ kept as best", palette["accent"])
    if item.inherited:
        title.append(f"  from {item.inherited}", palette["dim"])
    parts: list[RenderableType] = [title]
    if item.minibatch is not None:
        parts.append(_figures("minibatch", item.minibatch, palette))
    if item.validation is not None:
        parts.append(_figures("validation", item.validation, palette))
    elif item.minibatch is not None:
        text = "not tried on the validation set: the minibatch was not better than the best, within its error"
        parts.append(Text(text, palette["dim"]))
    if item.test is not None:
        parts.append(_figures("test", item.test, palette))
    if item.reply is not None:
        parts += [Text(), *_reply(state, item, palette)]
    return parts


def _figures(name: str, score: AnswersScored, palette: dict[str, Style]) -> RenderableType:
    text = Text(f"composite {fixed(score.composite)} ± {fixed(score.error)}")
    text.append(f"   {score.correct} of {score.judged} right ({fixed(score.correctness)})")
    text.append(f"   {fixed(score.mean_tokens, 1)} tokens (shortness {fixed(score.shortness)})")
    if score.cannot_tell:
        text.append(f"   on {score.cannot_tell} the judge cannot tell", palette["dim"])
    if failures := score.answers - score.judged - score.cannot_tell:
        text.append(f"   on {failures} the judge failed", palette["warn"])
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(min_width=10)
    grid.add_row(Text(name, palette["dim"]), text)
    return grid


def _reply(state: EvolutionState, item: IterationState, palette: dict[str, Style]) -> list[RenderableType]:
    reply = item.reply
    assert reply is not None
    heading = Text(
        f"{reply.reflector} replied" + (f" (attempt {reply.attempts})" if reply.attempts > 1 else "")
    )
    heading.stylize(palette["heading"])
    if reply.aborted:
        return [heading, Text(f"no valid reply: {reply.aborted}", palette["bad"])]
    return [heading, Text(clean(reply.summary)), Text(), _diff(state, item.deltas, reply.deltas, palette),
            Text(), Text(f"sent: {reply.message}", palette["dim"])]  # fmt: skip


def _diff(
    state: EvolutionState, before: dict[str, float], after: dict[str, float], palette: dict[str, Style]
) -> RenderableType:
    """Deltas of this iteration, the next one's, and the change."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
    for name, least in (("cluster", 7), ("now", 5), ("next", 5), ("change", 6)):
        table.add_column(name, justify="right", no_wrap=True, min_width=least)
    table.add_column("most frequent tokens", no_wrap=True, overflow="ellipsis", ratio=1)
    for name, value in after.items():
        change = value - before.get(name, 0.0)
        tone = palette["dim"] if not change else palette["good" if change > 0 else "bad"]
        table.add_row(
            name, signed(before.get(name, 0.0), 2), signed(value, 2), Text(signed(change, 2) if change else "·", tone),
            Text(cluster_words(state, name), palette["dim"]),
        )  # fmt: skip
    return table


def _judge(rows: Sequence[JudgeMeasured], palette: dict[str, Style]) -> RenderableType:
    """How far the judge agrees with people, by type of question."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
    table.add_column("judge and people", no_wrap=True, min_width=16)
    for name, least in (
        ("answers", 7),
        ("judged", 6),
        ("agree", 5),
        ("κ", 5),
        ("95%", 16),
        ("precision", 9),
        ("recall", 6),
    ):
        table.add_column(name, justify="right", no_wrap=True, min_width=least)
    for row in rows:
        table.add_row(
            Text(clean(row.question_type) or "all questions"), str(row.answers), f"{row.judged / row.answers:.0%}",
            fixed(row.agreement), fixed(row.kappa), interval(row.kappa_low, row.kappa_high), fixed(row.precision),
            fixed(row.recall),
        )  # fmt: skip
    return table


def _cannot_tell(began: EvolutionBegan, palette: dict[str, Style]) -> Text:
    text = f"the judge cannot tell on {began.cannot_tell} of {began.questions} questions: their answers are not scored"
    return Text(text, palette["warn"])


def _compared(rows: Sequence[MethodCompared], palette: dict[str, Style]) -> RenderableType:
    """The comparison at the end: best deltas against none and against the baselines."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
    table.add_column("test set", no_wrap=True, min_width=13)
    for name, least in (
        ("correct", 7),
        ("tokens", 6),
        ("composite", 9),
        ("− none", 6),
        ("95%", 16),
        ("p", 5),
    ):
        table.add_column(name, justify="right", no_wrap=True, min_width=least)
    for row in rows:
        table.add_row(
            Text(_name(row), palette["strong"] if row.method == "best" else ""),
            fixed(row.correctness), fixed(row.mean_tokens, 1), fixed(row.composite), signed(row.difference),
            interval(row.low, row.high), probability(row.p),
        )  # fmt: skip
    return table


_SHORT = {
    "no_processor": "none",
    "length_cap": "cap",
    "chosen_cap": "chosen cap",
    "brief_prompt": "short request",
    "best": "evolved",
}


def _name(row: MethodCompared) -> str:
    """A processor in a word or two, with its cap."""
    name = _SHORT.get(row.method, row.method.replace("_", " "))
    return name if row.cap is None else f"{name} {row.cap}"


def _differences(rows: Sequence[MethodCompared], palette: dict[str, Style]) -> list[RenderableType]:
    """Tokens that each method saves, how far its composite is from the best deltas', and the request it made."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=palette["heading"])
    table.add_column("differences", no_wrap=True, min_width=13)
    for name, least in (("tokens − none", 13), ("95%", 14), ("comp.−evolved", 12), ("95%", 16)):
        table.add_column(name, justify="right", no_wrap=True, min_width=least)
    for row in rows:
        table.add_row(
            _name(row),
            signed(row.tokens_difference, 1), interval(row.tokens_low, row.tokens_high, 1),
            signed(row.ahead), interval(row.ahead_low, row.ahead_high),
        )  # fmt: skip
    words = [f"{_name(row)}: {clean(row.prompt)}" for row in rows if row.prompt]
    return [table, *(Text(text, palette["dim"]) for text in words)]


def _drawn(state: EvolutionState, palette: dict[str, Style]) -> list[RenderableType]:
    """What the comparison says, in words."""
    if state.drawn is None:
        return []
    said = re.sub(r"(?<![\w-])-(?=\d)", "−", clean(state.drawn.text))
    for name in ("no_processor", "length_cap", "chosen_cap", "brief_prompt"):
        said = said.replace(name, _SHORT[name])
    return [Text(said, palette["warn" if state.drawn.ahead else "good"])]
