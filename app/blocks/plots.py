"""Two kinds of plots: values with their intervals, and curves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

from app.blocks.block import Picture
from app.blocks.drawing import COLOURS, Dot, Drawing, Label, Line
from app.blocks.fit import fit
from app.curves import Series, apart, thin, ticks
from app.wording.figures import bounds, fixed, tick

_WIDTH = 640.0
_NAMES = 190.0
_VALUES = 150.0
_ROW = 22.0
_LONGEST_NAME = 30
_MOST_POINTS = 400
_NAME_HEIGHT = 14.0


IntervalRow = tuple[str, float | None, float | None, float | None]
"""A name, its value and the ends of the interval, as far as they are known; without both, a dot alone."""


def interval_plot(rows: Iterable[IntervalRow], digits: int = 3, zero: bool = False) -> Drawing | None:
    """A row for each value, its interval as a line; `zero`: a line where nothing differs. None without values."""
    finite = [row for row in rows if all(isfinite(v) for v in row[1:] if v is not None)]
    drawn = [(name, value, low, high) for name, value, low, high in finite if value is not None]
    if not drawn:
        return None
    known = [v for row in drawn for v in row[1:] if v is not None] + ([0.0] if zero else [])
    axis = _Axis(min(known), max(known), _NAMES, _WIDTH - _VALUES)
    bottom = _ROW * len(drawn) + 6
    marks: list[Line | Dot | Label] = _grid_down(axis, bottom)
    if zero:
        marks.append(Line([(axis.at(0), 0), (axis.at(0), bottom)], "zero"))
    for number, (name, value, low, high) in enumerate(drawn):
        y = _ROW * (number + 0.5)
        marks.append(Label(_NAMES - 10, y, fit(name, _LONGEST_NAME), "end"))
        text = fixed(value, digits)
        if low is not None and high is not None:
            ends = axis.at(low), axis.at(high)
            marks.append(Line([(ends[0], y), (ends[1], y)], "c0"))
            marks += [Line([(x, y - 4), (x, y + 4)], "c0") for x in ends]
            text += f" {bounds(low, high, digits)}"
        marks.append(Dot(axis.at(value), y, "c0"))
        marks.append(Label(_WIDTH - _VALUES + 12, y, text))
    return Drawing(_WIDTH, bottom + 20, marks)


def interval_picture(
    rows: Iterable[IntervalRow], caption: str, digits: int = 3, zero: bool = False
) -> list[Picture]:
    """The rows that have a value, each a name, the value and its interval; nothing without any."""
    drawing = interval_plot(rows, digits, zero)
    return [] if drawing is None else [Picture(drawing, caption)]


def curve_plot(curves: Sequence[Series], x_name: str) -> Drawing | None:
    """Curves over one axis, each named at its end. None where no curve has two points."""
    thinned = [(curve.label, *thin(curve.x, curve.y, _MOST_POINTS)) for curve in curves]
    lines = [line for line in thinned if len(line[1]) > 1][: len(COLOURS)]
    if not lines:
        return None
    height, left, right = 210.0, 46.0, _WIDTH - _VALUES
    across = _Axis(min(min(x) for _, x, _ in lines), max(max(x) for _, x, _ in lines), left, right)
    up = _Axis(min(min(y) for _, _, y in lines), max(max(y) for _, _, y in lines), height - 34, 8)
    marks: list[Line | Dot | Label] = []
    for value, text in up.ticks():
        marks.append(Line([(left, up.at(value)), (right, up.at(value))], "grid"))
        marks.append(Label(left - 6, up.at(value), text, "end"))
    marks.append(Line([(left, height - 34), (right, height - 34)], "axis"))
    marks += [Label(across.at(value), height - 22, text, "middle") for value, text in across.ticks()]
    marks.append(Label((left + right) / 2, height - 6, x_name, "middle"))
    ends = apart([up.at(y[-1]) for _, _, y in lines], height - 34, _NAME_HEIGHT)
    for number, (label, xs, ys) in enumerate(lines):
        points = [(across.at(x), up.at(y)) for x, y in zip(xs, ys, strict=True)]
        marks.append(Line(points, f"c{number}"))
        marks.append(Line([(right + 4, ends[number]), (right + 26, ends[number])], f"c{number}"))
        marks.append(Label(right + 31, ends[number], fit(label, 20)))
    return Drawing(_WIDTH, height, marks)


class _Axis:
    """Values from `low` to `high` on the way between two coordinates."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        room = (high - low) * 0.05 or abs(high) * 0.1 or 1.0
        self.low, self.high = low - room, high + room
        self.start, self.end = start, end

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """Round values, about five."""
        values = ticks([self.low, self.high], 5)
        return [(value, tick(value)) for value in values if self.low <= value <= self.high]


def _grid_down(axis: _Axis, bottom: float) -> list[Line | Dot | Label]:
    marks: list[Line | Dot | Label] = []
    for value, text in axis.ticks():
        marks.append(Line([(axis.at(value), 0), (axis.at(value), bottom)], "grid"))
        marks.append(Label(axis.at(value), bottom + 11, text, "middle"))
    return marks
