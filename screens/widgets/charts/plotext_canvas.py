"""Lines, signs and axes drawn by plotext. No other module knows it.

plotext draws into one figure of the whole process: only the event loop may call this. The figure is read cell by cell,
as signs and numbers of colours: plotext is given numbers and single signs, and no terminal code is ever made of them.
plotext steps along each line; its dots are gathered into Braille signs here, which is many times faster.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import partial
from itertools import chain, groupby, pairwise
from math import floor
from typing import Any, NamedTuple

from screens.widgets.charts.axis import Axis

Dot = tuple[float, float]
"""Across from the left, up from the bottom; whole numbers are the middles of dots. A cell of Braille has 2 × 4."""
ACROSS, UP = 2, 4
_BITS = ((0x40, 0x80), (0x04, 0x20), (0x02, 0x10), (0x01, 0x08))
"""Of a Braille sign, by row from below and by column."""
_LONGEST = 5000
"""Dots of a line. A longer one would fill the chart, and plotext takes some microseconds for each dot."""


class Line(NamedTuple):
    """The dots of a line, or dots alone, which lie below all lines. `colour`: a number from 0 to 255 that its cells are
    given."""

    dots: Sequence[tuple[int, int]]
    colour: int
    joined: bool = True


class Sign(NamedTuple):
    """One character in the cell in which `dot` lies."""

    dot: Dot
    sign: str
    colour: int


Run = tuple[str, int | None]
"""Cells beside each other with their colour; None for the axes and what is empty."""


def draw_canvas(across: Axis, up: Axis, lines: Sequence[Line], signs: Sequence[Sign]) -> list[list[Run]]:
    """Rows from the top: the axis `up` with its labels on the left, two rows of the axis `across` at the bottom. What
    comes later lies over what came before."""
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
    for line in lines:
        cells = _braille(line.dots)
        at = [(_in_cell(x * ACROSS, ACROSS, across), _in_cell(y * UP, UP, up)) for x, y in cells]
        plotext.scatter(
            *_unzipped(at), marker=[chr(0x2800 + bits) for bits in cells.values()], color=line.colour
        )
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
    """Where plotext has to be given that a sign or tick stands for it to be put into the cell of `dot`: it spreads
    cells from the middle of the first to the middle of the last, and dots likewise."""
    return round(dot) // size * (axis.dots - 1) / (axis.dots // size - 1)


def _length(dots: Sequence[Dot]) -> float:
    return sum(max(abs(a[0] - b[0]), abs(a[1] - b[1])) for a, b in pairwise(dots))


def _unzipped(dots: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in dots], [y for _, y in dots]


def line_through(dots: Sequence[Dot], colour: int) -> Line:
    """A line; one that would fill the chart is its dots alone."""
    if _length(dots) > _LONGEST:
        return alone(dots, colour)
    from plotext._utility import get_line

    ends = _whole(dots)
    steps = (zip(*get_line(*_unzipped(pair)), strict=True) for pair in pairwise(ends))
    return Line([ends[0], *chain.from_iterable(steps)], colour)


def alone(dots: Sequence[Dot], colour: int) -> Line:
    """Dots that no line joins."""
    return Line(_whole(dots), colour, joined=False)


def _whole(dots: Sequence[Dot]) -> list[tuple[int, int]]:
    """Rounded half up, as plotext rounds."""
    return [(floor(round(x + 0.5, 8)), floor(round(y + 0.5, 8))) for x, y in dots]


def _braille(dots: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """The dots of each cell, as bits of its sign."""
    cells: dict[tuple[int, int], int] = {}
    for x, y in dots:
        cell = x // ACROSS, y // UP
        cells[cell] = cells.get(cell, 0) | _BITS[y % UP][x % ACROSS]
    return cells
