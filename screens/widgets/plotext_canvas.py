"""Lines, signs and axes drawn by plotext. No other module knows it.

plotext draws into one figure of the whole process: only the event loop may call this. The figure is read cell by cell,
as signs and numbers of colours: plotext is given numbers and single signs, and no terminal code is ever made of them.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import partial
from itertools import groupby, pairwise
from math import ceil, floor, inf
from typing import Any, NamedTuple

from screens.widgets.axis import Axis

Dot = tuple[float, float]
"""Across from the left, up from the bottom; whole numbers are the middles of dots. A cell of Braille has 2 × 4."""
ACROSS, UP = 2, 4
_LONGEST = 5000
"""Dots of a line. A longer one would fill the chart, and plotext takes some microseconds for each dot."""


class Line(NamedTuple):
    """A line through dots, or the dots alone, which lie below all lines. `colour`: a number from 0 to 255 that its
    cells are given."""

    dots: Sequence[Dot]
    colour: int
    joined: bool = True


class Sign(NamedTuple):
    """One character in the cell in which `dot` lies."""

    dot: Dot
    sign: str
    colour: int


Run = tuple[str, int | None]
"""Cells beside each other with their colour; None for the axes and what is empty."""


def draw_canvas(
    across: Axis, up: Axis, lines: Sequence[Line], signs: Sequence[Sign], cross: tuple[int, int] | None = None
) -> list[list[Run]]:
    """Rows from the top: the axis `up` with its labels on the left, two rows of the axis `across` at the bottom. What
    comes later lies over what came before; `cross`: a dot across, and the colour of a line up through it."""
    import plotext  # 30 ms: not before there is a chart

    wide, high = across.dots // ACROSS, up.dots // UP
    plotext.clear_figure()
    plotext.limit_size(False, False)
    plotext.plot_size(max(map(len, up.labels)) + 2 + wide, high + 2)
    plotext.theme("clear")
    plotext.xaxes(True, False)
    plotext.yaxes(True, True)  # the right one gives the last label across its room, and is cut off
    plotext.xlim(0, across.dots - 1)
    plotext.ylim(0, up.dots - 1)
    plotext.xticks([_in_cell(across.dot(tick), ACROSS, across) for tick in across.ticks], across.labels)
    plotext.yticks([_in_cell(up.dot(tick), UP, up) for tick in up.ticks], up.labels)
    if cross is not None:
        plotext.vertical_line(_in_cell(cross[0], ACROSS, across), color=cross[1])
    for line in lines:
        draw = plotext.plot if line.joined else plotext.scatter
        draw(*_unzipped(line.dots), marker="braille", color=line.colour)
    for (sign, colour), alike in groupby(signs, key=lambda one: one[1:]):
        cells = [(_in_cell(x, ACROSS, across), _in_cell(y, UP, up)) for (x, y), *_ in alike]
        plotext.scatter(*_unzipped(cells), marker=sign, color=colour)
    monitor = plotext.main().monitor
    matrix = monitor.matrix
    matrix.set_matrices = partial(_clear, matrix)
    _keep_dots_below(matrix, {line.colour for line in lines if not line.joined})
    monitor.build_plot()
    return [
        _runs(signs[:-1], colours[:-1])
        for signs, colours in zip(reversed(matrix.marker), reversed(matrix.fullground), strict=True)
    ]


def _runs(signs: Sequence[str], colours: Sequence[int | str]) -> list[Run]:
    runs: list[Run] = []
    start = 0
    for colour, alike in groupby(colours):
        end = start + len(list(alike))
        runs.append(("".join(signs[start:end]), colour if isinstance(colour, int) else None))
        start = end
    return runs


def _clear(matrix: Any) -> None:
    """Empty cells of no colour. plotext's own way asks for each cell in which part of the figure it lies: that takes a
    third of a small chart's time."""
    matrix.marker = [[" "] * matrix.cols for _ in matrix.Rows]
    matrix.fullground, matrix.background, matrix.style = (
        [["default"] * matrix.cols for _ in matrix.Rows] for _ in range(3)
    )


def _keep_dots_below(matrix: Any, but: Set[int]) -> None:
    """A line adds its dots to those of the line below it, `but` for these colours: plotext would wipe out all."""

    def put(col: int, row: int, marker: str) -> None:
        below = matrix.marker[row][col]
        if _is_braille(below) and _is_braille(marker) and matrix.fullground[row][col] not in but:
            marker = chr(ord(below) | ord(marker))
        matrix.marker[row][col] = marker

    matrix.set_marker = put


def _is_braille(sign: str) -> bool:
    return "⠀" <= sign <= "⣿"


def _in_cell(dot: float, size: int, axis: Axis) -> float:
    """Where plotext has to be told that a sign or tick stands for it to be put into the cell of `dot`: it spreads cells
    from the middle of the first to the middle of the last, and dots likewise."""
    return round(dot) // size * (axis.dots - 1) / (axis.dots // size - 1)


def _length(dots: Sequence[Dot]) -> float:
    return sum(max(abs(a[0] - b[0]), abs(a[1] - b[1])) for a, b in pairwise(dots))


def _unzipped(dots: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in dots], [y for _, y in dots]


def line_through(dots: Sequence[Dot], colour: int) -> Line:
    """A line; one that would fill the chart is its dots alone."""
    if _length(dots) > _LONGEST:
        return Line(dots, colour, joined=False)
    return Line(bends(dots), colour)


def height_at(line: Line, x: int) -> int | None:
    """The dot up at which plotext draws the line at the dot `x` across: between two dots, both rounded half up, it
    takes steps of one dot along the longer way, and rounds down. None before the first dot and after the last."""
    for (x0, y0), (x1, y1) in pairwise((floor(a + 0.5), floor(b + 0.5)) for a, b in line.dots):
        if x0 <= x <= x1 and x1 > x0:
            rise = (y1 - y0) * (x - x0) / (x1 - x0)
            if abs(y1 - y0) > x1 - x0:
                return y0 + (ceil(rise) if rise > 0 else floor(rise))
            return floor(y0 + rise)
    return None


def bends(dots: Sequence[Dot]) -> list[Dot]:
    """The dots between which a line is straight, to within half a dot: plotext takes its time for each."""
    kept = [dots[0]]
    flattest, steepest = -inf, inf
    for before, here in pairwise(dots):
        if here == before:
            continue
        slope = _slope(kept[-1], here)
        if not flattest <= slope <= steepest or slope == inf:
            if before != kept[-1]:
                kept.append(before)
            flattest, steepest = -inf, inf
        flattest = max(flattest, _slope(kept[-1], here, -0.5))
        steepest = min(steepest, _slope(kept[-1], here, 0.5))
    return kept if dots[-1] == kept[-1] else [*kept, dots[-1]]


def _slope(a: Dot, b: Dot, more: float = 0.0) -> float:
    return inf if b[0] <= a[0] else (b[1] + more - a[1]) / (b[0] - a[0])
