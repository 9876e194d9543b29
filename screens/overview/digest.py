"""The digest: one line a method, from its baseline to what it reached, with its cost and what comes closest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.style import Style
from rich.text import Text

from app.state.run import RunState
from app.wording.figures import fixed
from app.wording.text import duration, how_far
from app.wording.verdict_text import VerdictCells, verdict_cells
from screens.method_progress import MethodProgress
from screens.overview.card_content import curve_of, headline, state_words

HEADINGS = VerdictCells("baseline", "", "with", "difference", "cost", "as good")
_ROOMY = 100
_BROKEN_OFF = ("failed", "stopped")
_TO_THE_RIGHT = (1, 2)
"""Columns of values."""


@dataclass(frozen=True)
class DigestLine:
    """`title`: `1 ESM ✓`. `cells`: of the method's verdict; `words`: what is said where it has none, or is at work.
    `shown`: whether the verdict shows a difference: the cell of one that does not is a sentence."""

    title: str
    cells: VerdictCells | None = None
    words: str = ""
    shown: bool = True


def digest_lines(methods: Sequence[MethodProgress], state: RunState, width: int) -> list[DigestLine]:
    """A line for each method of a run, in their order, for a terminal of `width` columns."""
    return [_line(number, each, state, width < _ROOMY) for number, each in enumerate(methods, 1)]


def _line(number: int, progress: MethodProgress, state: RunState, brief: bool) -> DigestLine:
    title, verdict = f"{number} {progress.name} {progress.short}", headline(progress, state)
    if progress.at_work:
        return DigestLine(
            title, words="; ".join(filter(None, (_at_work(progress), _so_far(progress, state))))
        )
    if verdict is not None and progress.state not in _BROKEN_OFF:
        return DigestLine(title, verdict_cells(verdict, brief), shown=verdict.shown)
    words = state_words(progress)
    compared = ", not compared with a baseline" if progress.state == "finished" else ""
    return DigestLine(title, words=words + compared)


def _at_work(progress: MethodProgress) -> str:
    """`eval 80/200, 0:25 left`"""
    stage = progress.now
    assert stage is not None, "a method at work has a stage at work"
    paused = ", paused" if progress.state == "paused" else ""
    left = "" if stage.eta is None else f", {duration(stage.eta)} left"
    return f"{stage.name} {how_far(stage.done, stage.total)}{paused or left}"


def _so_far(progress: MethodProgress, state: RunState) -> str:
    """`so far greedy 63.5% → 95.0% ▲ +31.5 [25, 38]`, or the newest figure of the method's curve."""
    verdict = headline(progress, state)
    if verdict is not None:
        cells = verdict_cells(verdict)
        return f"so far {cells.baseline} {cells.before} → {cells.value} {cells.difference}"
    curve = curve_of(progress.name, state, None)
    return "" if curve is None else f"{curve.figure} {fixed(curve.values[-1], curve.digits)}"


# ---------------------------------------------------------------- drawing


class DigestTable:
    """The lines below one another in `width` columns; what does not fit is cut at the right. `styles`: good and bad, of
    the signs that say better and worse, and dim, of headings."""

    def __init__(self, lines: Sequence[DigestLine], width: int, styles: Mapping[str, Style]) -> None:
        aligned = [line for line in lines if line.cells is not None]
        self._styles, self._gap = styles, " " * (3 if width >= _ROOMY else 1)
        self._title = max((len(line.title) for line in aligned or lines), default=0)
        rows = [HEADINGS, *map(_in_columns, aligned)]
        self._widths = [max(map(len, column)) for column in zip(*rows, strict=True)]

    def heading(self) -> Text:
        """The columns' names."""
        names = self._joined(HEADINGS)
        return Text(f"{'':{self._title}}{self._gap}{names}", self._styles["dim"])

    def line(self, line: DigestLine) -> Text:
        """A method's line."""
        text = Text(f"{line.title:{self._title}}{self._gap}")
        if line.cells is None:
            return text.append(line.words)
        text.append(self._joined(_in_columns(line)))
        if not line.shown:
            text.append(f"{self._gap}{line.cells.difference}  {line.cells.cost}".rstrip())
        sign = text.plain.index(line.cells.difference, self._title)
        tone = {"▲": "good", "▼": "bad"}.get(text.plain[sign], "dim")
        text.stylize(self._styles[tone], sign, sign + 1)
        return text

    def _joined(self, cells: Sequence[str]) -> str:
        return self._gap.join(
            f"{cell:>{width}}" if at in _TO_THE_RIGHT else f"{cell:<{width}}"
            for at, (cell, width) in enumerate(zip(cells, self._widths, strict=True))
        ).rstrip()


def _in_columns(line: DigestLine) -> tuple[str, ...]:
    """The cells that stand in their columns: a sentence in place of a difference takes the room behind them."""
    assert line.cells is not None, "only lines with a verdict have cells"
    return line.cells if line.shown else (*line.cells[:3], "", "", "")
