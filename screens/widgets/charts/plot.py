"""Draws a chart as lines of text: Braille for every line, the names at the lines' ends, titles on both axes.

```
composite, 0 to 1
 1.0┤    ⣀⡠⠤⠒●⠉⠉⠉⠉ ● composite 0.846
 0.8┤⠤⠒⠉
    └┬────────────┬ iteration
     0            9
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text

from app.blocks.fit import fit
from app.curves import apart, thin
from app.methods.chart import MARKS, Series
from app.wording.figures import figure
from screens.widgets.charts.axis import Axis, spanning
from screens.widgets.charts.plotext_canvas import (
    ACROSS,
    UP,
    Dot,
    Line,
    Run,
    Sign,
    alone,
    draw_canvas,
    line_through,
)

Styles = Mapping[str, Style]
"""By name: title, axis, faint, point, and line-0 to line-3."""

_AROUND = 3
"""Lines that are no canvas: the title, the axis, its labels."""
_LEAST_WIDE, _LEAST_HIGH = 8, 2
_MARK_EVERY = 18
_FEW = 5
"""Columns for each point of a line of which all points have a sign."""
_LINES = 4
_COLOURS = ("faint", "point", *(f"line-{i}" for i in range(_LINES)))
"""Names of styles by the number that plotext is given as their colour."""


@dataclass(frozen=True)
class Frame:
    """`width` × `height` cells; `y` and `x`: the axes' titles with their units."""

    width: int
    height: int
    y: str
    x: str


def draw_plot(series: Sequence[Series], frame: Frame, styles: Styles) -> list[Text]:
    """`height` lines of `width` cells. What cannot be drawn in so little room is said in figures."""
    shown = [(s, x, y) for s in numbered(series) for x, y in [thin(s.x, s.y, 4 * max(20, frame.width))] if x]
    ys = [value for _, _, y in shown for value in y]
    if not ys:
        return _padded([Text(fit(frame.y, frame.width), styles["title"])], frame)
    named = [(s, y[-1]) for s, _, y in shown if not s.faint]
    high = frame.height - _AROUND
    up = spanning(ys, UP * max(1, high), max(2, high // 2))
    left = max(map(cell_len, up.labels)) + 1
    longest = max((cell_len(_name(s, value)) for s, value in named), default=0)
    margin = min(max(cell_len(frame.x), longest) + 1, frame.width * 2 // 5)
    wide = frame.width - left - margin
    if high < _LEAST_HIGH or wide < _LEAST_WIDE:
        lines = [Text(fit(frame.y, frame.width), styles["title"])]
        lines += [Text(_name(s, value, frame.width), styles[_style(s)]) for s, value in named]
        return _padded(lines, frame)
    across = spanning([value for _, x, _ in shown for value in x], ACROSS * wide, max(2, wide // 10))
    dots = [(s, list(zip(across.places(x), up.places(y), strict=True))) for s, x, y in shown]
    rows = _rows(across, up, dots)
    named = sorted(named, key=lambda entry: -entry[1])[:high]  # from the top, as many as there are rows
    ends = apart([high - 1 - up.dot(value) // UP for _, value in named], high - 1, 1)
    at_row = dict(zip(ends, named, strict=True))
    lines = [Text(set_cell_size(fit(frame.y, frame.width), frame.width), styles["title"])]
    for number, row in enumerate(rows):
        line = _text(row, styles)
        if (end := at_row.get(number)) is not None:
            line.append(" " + _name(*end, margin - 1), styles[_style(end[0])])
        elif number == high:
            line.append(" " + fit(frame.x, margin - 1), styles["title"])
        lines.append(line)
    return lines


def numbered(series: Sequence[Series]) -> list[Series]:
    """The series, each with a mark: lines in the order of `MARKS`, a faint one with that of the line after it."""
    result, lines = [], 0
    for one in series:
        mark = one.mark or MARKS[lines % len(MARKS)]
        lines += not (one.points or one.faint)
        result.append(Series(one.label, one.x, one.y, mark, one.points, one.faint))
    return result


def _name(series: Series, value: float, width: int = 1000) -> str:
    """Mark, name and last value; the name is cut before the value is, first what stands behind its comma. `~` stands
    for `, mean of 3`: that mean's last value is about the last one."""
    label, words = series.label, figure(value)
    if cell_len(label) > width - 3 - len(words):
        label, _, behind = label.partition(",")
        words = f"~{words}" if behind.startswith(" mean of") else words
    return fit(f"{series.mark} {fit(label, max(4, width - 3 - len(words)))} {words}", width)


def _style(series: Series) -> str:
    if series.points:
        return "point"
    return "faint" if series.faint else f"line-{MARKS.find(series.mark) % _LINES}"


def _padded(lines: list[Text], frame: Frame) -> list[Text]:
    return [*lines, *(Text() for _ in range(frame.height))][: frame.height]


_Dots = Sequence[tuple[Series, Sequence[Dot]]]
"""Each series with the places of its points."""


def _rows(across: Axis, up: Axis, series: _Dots) -> list[list[Run]]:
    """The canvas with its axes: raw values, lines with the first on top, their marks, single points."""
    lines, points = ([entry for entry in series if entry[0].points == single] for single in (False, True))
    order = sorted(lines, key=lambda entry: entry[0].faint)[::-1]
    signs = _marks([entry for entry in lines if not entry[0].faint], across.dots // ACROSS) + _signs(points)
    return draw_canvas(across, up, [_line(*entry) for entry in order], signs)


def _line(one: Series, dots: Sequence[Dot]) -> Line:
    """Raw values are dots alone, so that they differ from their mean without colour."""
    return alone(dots, _colour(one)) if one.faint else line_through(dots, _colour(one))


def _marks(lines: _Dots, wide: int) -> list[Sign]:
    """If there are several lines, the sign of each at points that were measured: at all if they are few, else in other
    columns than those of other lines. Where points of lines meet, their signs take turns."""
    signs = [
        ((number - at - 1) % len(lines), Sign(dot, one.mark, _colour(one)))
        for number, (one, dots) in enumerate(lines if len(lines) > 1 else [])
        for at, dot in enumerate(dots if len(dots) * _FEW <= wide else _some(dots, 4 + 5 * number))
    ]
    return [sign for _, sign in sorted(signs, key=lambda entry: entry[0])]


def _some(dots: Sequence[Dot], column: int) -> Iterator[Dot]:
    """The first of many points in this column or behind it, and so on."""
    for dot in dots:
        if (here := round(dot[0]) // ACROSS) >= column:
            yield dot
            column = here + _MARK_EVERY


def _signs(points: _Dots) -> list[Sign]:
    """Of single points: the later over the earlier."""
    return [Sign(dot, one.mark, _colour(one)) for one, dots in points for dot in dots]


def _colour(series: Series) -> int:
    return _COLOURS.index(_style(series))


def _text(row: Sequence[Run], styles: Styles) -> Text:
    """A row of cells; the axes have a style of their own."""
    cells = ((signs, styles["axis" if colour is None else _COLOURS[colour]]) for signs, colour in row)
    return Text.assemble(*cells)
