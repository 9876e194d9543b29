"""A curve with its baseline in the same scale, drawn in Braille signs; the baseline is dotted."""

from __future__ import annotations

from itertools import groupby

from rich.style import Style
from rich.text import Text
from textual.widget import Widget

from app.methods.overview import Curve
from app.wording.figures import fixed
from screens.widgets.charts.spark import spark
from screens.widgets.tones import tone

_EMPTY, _LEFT_DOTS = 0x2800, 0x47
"""A Braille sign without dots, and the dots of its left column: every second one of a line."""


class CurveView(Widget):
    """Fills its room: the curve, and a line that says what it is."""

    DEFAULT_CSS = """
    CurveView {
        height: 5;
        color: $primary;
        &.-empty { display: none; }
    }
    """

    def __init__(self) -> None:
        super().__init__(classes="-empty")
        self.curve: Curve | None = None

    def show(self, curve: Curve | None) -> None:
        """Draw this, if it is another than before."""
        if curve != self.curve:
            self.curve = curve
            self.set_class(curve is None, "-empty")
            self.refresh()

    def render(self) -> Text:
        if self.curve is None:
            return Text()
        width, height = self.content_size
        return draw_curve(self.curve, width, height, tone(self, "dim"))


def draw_curve(curve: Curve, width: int, height: int, dim: Style | str = "") -> Text:
    """`height` lines. On the left the scale; on the right both names with their last values, where the lines end."""
    lines = max(1, height - 1)
    held = (*curve.values, *curve.baseline)
    ends = _ends(curve, lines)
    scale = _scale(held, lines, curve.digits)
    edge, right = max(map(len, scale)), max(map(len, ends))
    across = max(4, width - edge - right - 3)
    solid = _line(curve, curve.values, across, lines)
    dots = map(_dotted, _line(curve, curve.baseline, across, lines))
    text = Text()
    for mark, line, below, end in zip(scale, solid, dots, ends, strict=True):
        text.append(f"{mark:>{edge}} ┤", dim)
        for covered, signs in groupby(zip(line, below, strict=True), lambda pair: ord(pair[0]) != _EMPTY):
            solid_signs, dotted = map("".join, zip(*signs, strict=True))
            text.append(solid_signs) if covered else text.append(dotted, dim)
        text.append(f" {end}\n")
    return text.append(" " * (edge + 2) + f"{curve.figure}, over {curve.over}", dim)


def _scale(held: tuple[float, ...], lines: int, digits: int) -> list[str]:
    """The highest value at the first line, the lowest at the last."""
    marks = [""] * lines
    marks[-1], marks[0] = fixed(min(held), digits), fixed(max(held), digits)
    return marks


def _ends(curve: Curve, lines: int) -> list[str]:
    """What stands at the right of each line: `esm 0.965`."""
    held = (*curve.values, *curve.baseline)
    low, high = min(held), max(held)
    ends = [""] * lines
    for name, values in ((curve.name, curve.values), (curve.baseline_name, curve.baseline)):
        if values:
            down = (high - values[-1]) / (high - low) if high > low else 0.5
            at = min(lines - 1, int(down * lines))
            ends[at] += f"{', ' * bool(ends[at])}{name} {fixed(values[-1], curve.digits)}"
    return ends


def _line(curve: Curve, values: tuple[float, ...], across: int, lines: int) -> list[str]:
    """The curve of these values, `lines` high. With fewer values than the other it ends earlier; one is a level."""
    longest = max(len(curve.values), len(curve.baseline))
    width = across if len(curve.baseline) == 1 else max(1, round(across * len(values) / longest))
    drawn = spark(values, width, lines, (*curve.values, *curve.baseline))
    return [line.ljust(across, chr(_EMPTY)) for line in drawn]


def _dotted(line: str) -> str:
    return "".join(chr(_EMPTY | (ord(sign) - _EMPTY) & _LEFT_DOTS) for sign in line)
