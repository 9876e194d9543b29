"""Modes side by side: scores with intervals, what they cost, and what their notes did."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult

from app.blocks.block import Target
from app.blocks.terminal import link
from app.figures import NONE, bounds, fixed, interval, signed
from app.methods.chart import Series
from app.result_tables.slsm import board_lines
from app.state.run import RunState
from app.state.slsm import SLSMState
from app.text import counted
from engine.events import ModeScored
from screens.panes.page import PagePane
from screens.widgets.chart import Chart
from screens.widgets.detail_pane import DetailPane

_EMPTY = """The modes are compared when all conversations have been answered.

Until then the tab Conversations shows each answer as it comes."""


_SCORE = "macro: share of conversations whose answer passes; every axis counts alike"
_NOTES = """fixed: the note made a failing answer pass; broke: a passing one fail; wasted: it changed nothing
given: conversations with a note; tokens: of a note, mean of all conversations"""
_CHOSEN = (
    "the best of {} looks better than it is: the interval does not count that it was chosen by this score; "
    "confirm it on other conversations"
)
_COST = """calls and tokens are means of a conversation; failed: calls of the controller
cut: answers that ended at the limit of tokens; none: conversations without an answer"""


class ModesPane(PagePane):
    """The course of the scores above a page of tables; `slsm/modes.csv` has the same figures."""

    LINKS = True

    def compose(self) -> ComposeResult:
        yield Chart("answers that pass so far, share", "answers judged", id="modes-chart")
        yield DetailPane()

    def show(self) -> None:
        """Draw the session's state."""
        chart = self.query_one(Chart)
        chart.show_series(course(self.session.state.slsm))
        chart.set_class(not chart.series, "-empty")
        super().show()

    def draw(self, state: RunState, palette: dict[str, Style]) -> RenderableType:
        return draw_modes(state.slsm, palette)


def course(state: SLSMState) -> list[Series]:
    """A line for each mode: the share of its answers that pass, after each that was judged. Of two kinds of memory the
    first is shown, and baseline, which has none."""
    memories = list(dict.fromkeys(row.memory_mode for row in state.results if row.mode != "baseline"))
    shares: dict[str, list[float]] = {}
    passed: dict[str, int] = {}
    for row in state.results:
        if row.passed is None or row.memory_mode in memories[1:]:
            continue
        passed[row.mode] = passed.get(row.mode, 0) + row.passed
        line = shares.setdefault(row.mode, [])
        line.append(passed[row.mode] / (len(line) + 1))
    return [Series(mode, range(1, len(line) + 1), line) for mode, line in shares.items()]


def draw_modes(state: SLSMState, palette: dict[str, Style]) -> RenderableType:
    """Score and axes, notes, cost."""
    if not state.modes:
        return Group(_about(state, palette), Text(), Text(_EMPTY, palette["dim"]))
    rows = list(state.modes.values())
    parts: list[RenderableType] = [
        *_said(rows, palette),
        _about(state, palette),
        Text(),
        _scores(rows, palette),
    ]
    parts += [Text(_SCORE, palette["dim"]), Text()]
    if (board := state.board) is not None:
        first, rest = board_lines(board)
        parts += [
            Text(first, palette["bad" if board.differs else "good"]),
            Text(rest, palette["dim"]),
            Text(),
        ]
    parts += [_axes(rows, palette), Text(), _notes(rows, palette)]
    parts += [Text(_NOTES, palette["dim"]), Text()]
    parts += [
        _cost(rows, palette),
        Text(_COST, palette["dim"]),
        Text(),
        Text("slsm/modes.csv, slsm/summary.json", palette["dim"]),
    ]
    return Group(*parts)


def _said(rows: list[ModeScored], palette: dict[str, Style]) -> list[RenderableType]:
    """Which mode is best, what its notes did, and what comes next to it at a lower cost."""
    judged = [row for row in rows if row.score is not None]
    plain = next((row for row in judged if row.mode == "baseline"), None)
    others = [row for row in judged if row.mode != "baseline"]
    if plain is None or not others:
        return []
    best = max(others, key=lambda row: (row.score or 0.0, -row.injections))
    gain = best.difference or 0.0
    text = Text(f"{_named(best)}: {fixed(best.score)} pass, {fixed(plain.score)} without a controller")
    text.stylize(palette["good" if (best.difference_low or 0.0) > 0 else "warn"])
    if best.difference is not None:
        text.append(
            f"  {signed(gain)} {interval(best.difference_low, best.difference_high)}", palette["strong"]
        )
    done = Text(f"its notes turned {counted(best.fixed, 'answers')} right", palette["dim"])
    done.append(
        f" and {best.broke:,} wrong; {best.wasted:,} of {best.injections:,} changed nothing", palette["dim"]
    )
    said: list[RenderableType] = [text, done]
    if len(others) > 1:
        said.append(Text(f"{_CHOSEN.format(len(others))}", palette["dim"]))
    return said


def _named(row: ModeScored) -> str:
    return f"{row.mode} with {row.memory_mode} memory"


def _about(state: SLSMState, palette: dict[str, Style]) -> Text:
    began = state.began
    if began is None:
        return Text("not started yet", palette["dim"])
    text = Text(f"{counted(began.conversations, 'conversations')} of {began.dataset}", palette["strong"])
    text.append(f"   sha256 {began.dataset_hash[:12]}", palette["dim"])
    detector = f"   detector {began.detector}" if began.detector else ""
    text.append(f"\nmodel {began.model}   controller {began.controller}{detector}   judge {began.judge}")
    if failures := state.failures:
        text.append(
            f"\n{counted(failures, 'calls')} of the controller failed: the state did not change",
            palette["bad"],
        )
    return text


def _table(palette: dict[str, Style], title: str, *headings: str, gap: int = 2) -> Table:
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style=palette["heading"])
    table.add_column(title, no_wrap=True, min_width=12)
    table.add_column("memory", no_wrap=True, min_width=10)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _scores(rows: list[ModeScored], palette: dict[str, Style]) -> Table:
    table = _table(palette, "score", "macro", "95% interval", "− baseline", "95% interval", gap=1)
    best = max((row.score for row in rows if row.score is not None), default=None)
    for row in rows:
        if not row.judged or row.score is None:
            table.add_row(row.mode, Text(row.memory_mode, palette["dim"]), NONE)
            continue
        table.add_row(
            row.mode, Text(row.memory_mode, palette["dim"]),
            Text(fixed(row.score), palette["good"] if row.score == best else ""),
            bounds(row.low, row.high),
            signed(row.difference) if row.difference is not None else "",
            interval(row.difference_low, row.difference_high) if row.difference is not None else "",
        )  # fmt: skip
    return table


def _axes(rows: list[ModeScored], palette: dict[str, Style]) -> Table:
    axes = list(dict.fromkeys(str(axis[0]) for row in rows for axis in row.by_axis))
    table = _table(palette, "by axis", *("\n".join(axis.lower().split("_")) or "all" for axis in axes))
    for row in rows:
        scores = {str(axis[0]): float(axis[1]) for axis in row.by_axis}
        table.add_row(
            row.mode, Text(row.memory_mode, palette["dim"]), *(fixed(scores.get(axis)) for axis in axes)
        )
    return table


def _notes(rows: list[ModeScored], palette: dict[str, Style]) -> Table:
    table = _table(palette, "notes", "given", "tokens", "fixed", "wasted", "broke")
    for row in rows:
        table.add_row(
            row.mode, Text(row.memory_mode, palette["dim"]), f"{row.injections}/{row.n}", f"{row.injected_tokens:.1f}",
            _turned(row, "fixed", row.fixed, palette["good"], palette),
            Text(str(row.wasted), palette["dim"]),
            _turned(row, "broke", row.broke, palette["bad"], palette),
        )  # fmt: skip
    return table


def _turned(row: ModeScored, what: str, count: int, style: Style, palette: dict[str, Style]) -> Text:
    """A count that leads to the first of the conversations."""
    if not count:
        return Text("0", palette["dim"])
    return link(str(count), Target(what, f"{row.mode} {row.memory_mode}"), style)


def _cost(rows: list[ModeScored], palette: dict[str, Style]) -> Table:
    headings = ("controller", "model", "detector", "tokens", "failed", "cut", "none")
    table = _table(palette, "calls", *headings, gap=1)
    for row in rows:
        tokens = row.controller_tokens + row.model_tokens + row.detector_tokens
        table.add_row(
            row.mode, Text(row.memory_mode, palette["dim"]), f"{row.controller_calls:.2f}", f"{row.model_calls:.2f}",
            f"{row.detector_calls:.2f}", f"{tokens:,.0f}",
            *(Text(str(n), palette["bad" if n else "dim"]) for n in (row.failures, row.cut, row.unanswered)),
        )  # fmt: skip
    return table
