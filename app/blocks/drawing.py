"""A drawing of lines, dots and labels as SVG. Coordinates are points, y grows downwards."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

COLOURS = {
    "c0": ("#0b62a4", "#6cb2eb"),
    "c1": ("#b04a00", "#f0a35e"),
    "c2": ("#1b7a43", "#6fd08c"),
    "c3": ("#7a3fa0", "#c9a0e8"),
    "c4": ("#5f5f5f", "#b9b9b9"),
}
"""Of lines and dots, on a light and on a dark ground. Lines have dashes of their own as well."""
_DASHES = {"c1": "7 3", "c2": "2 3", "c3": "9 3 2 3", "c4": "4 4", "zero": "3 3"}


@dataclass(frozen=True)
class Line:
    """A line through points. `style`: axis, grid, zero, or one of `COLOURS`."""

    points: Sequence[tuple[float, float]]
    style: str


@dataclass(frozen=True)
class Dot:
    """A dot."""

    x: float
    y: float
    style: str


@dataclass(frozen=True)
class Label:
    """A text whose middle line is at `y`; `anchor`: which end of it is at `x`."""

    x: float
    y: float
    text: str
    anchor: Literal["start", "middle", "end"] = "start"


@dataclass(frozen=True)
class Drawing:
    """Marks on a ground of `width` by `height`."""

    width: float
    height: float
    marks: Sequence[Line | Dot | Label]


def svg(drawing: Drawing, name: str, style: str = "") -> str:
    """The drawing as an SVG element that loads nothing; its colours are classes, for which `style` may stand in it."""
    size = f'viewBox="0 0 {_n(drawing.width)} {_n(drawing.height)}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{html.escape(name)}">']
    if style:
        parts.append(f"<style>{style}</style>")
    for mark in drawing.marks:
        match mark:
            case Line(points, kind):
                path = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
                dashes = f' stroke-dasharray="{_DASHES[kind]}"' if kind in _DASHES else ""
                parts.append(f'<polyline class="{kind}" points="{path}"{dashes}/>')
            case Dot(x, y, kind):
                parts.append(f'<circle class="{kind}" cx="{_n(x)}" cy="{_n(y)}" r="3.5"/>')
            case Label(x, y, text, anchor):
                where = f'x="{_n(x)}" y="{_n(y + 3.5)}" text-anchor="{anchor}"'
                parts.append(f"<text {where}>{html.escape(text)}</text>")
    return "".join([*parts, "</svg>"])


def styles(dark: bool) -> str:
    """The rules for the classes of a drawing."""
    rules = [
        f".{name}{{stroke:{pair[dark]}}}circle.{name}{{fill:{pair[dark]}}}" for name, pair in COLOURS.items()
    ]
    text, grid = ("#d8dde3", "#3b434d") if dark else ("#333", "#d9dee4")
    rules.append(f"svg text{{fill:{text}}}.axis,.zero{{stroke:{text}}}.grid{{stroke:{grid}}}")
    return "".join(rules)


PLAIN_STYLE = (
    "polyline{fill:none;stroke-width:1.5}.axis,.grid,.zero{stroke-width:.8}svg text{font:11px sans-serif}"
)
"""What holds on every ground."""


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
