"""NO_COLOR: bold, dim and reverse say what colours say elsewhere; not one colour code is sent."""

from __future__ import annotations

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

_FAINT = 0.5
"""Difference in brightness between text and its background below which it becomes dim."""
_RAISED = 0.08
"""Difference in brightness between two backgrounds, 0 to 1, from which one marks something: it becomes reverse."""


@lru_cache
def plain_attributes(background: str) -> PlainAttributes:
    """The filter for screens with this background; always the same one, since strips remember it."""
    return PlainAttributes(Color.parse(background))


class PlainAttributes(LineFilter):
    """Takes every colour away; `base` is the background of the whole screen."""

    def __init__(self, base: Color) -> None:
        super().__init__()
        self._base = base

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments with attributes only."""
        return [
            segment
            if segment.control or segment.style is None
            else Segment(segment.text, _plain(segment.style, self._base))
            for segment in segments
        ]


@lru_cache(maxsize=4096)
def _plain(style: Style, base: Color) -> Style:
    front = Color.from_rich_color(style.color) if style.color else None
    back = Color.from_rich_color(style.bgcolor) if style.bgcolor else base
    reverse = bool(style.reverse) != (abs(back.brightness - base.brightness) > _RAISED)
    faint = front is not None and abs(front.brightness - back.brightness) < _FAINT
    return Style(
        bold=style.bold, italic=style.italic, underline=style.underline, strike=style.strike,
        dim=bool(style.dim) or (faint and not reverse), reverse=reverse, link=style.link, meta=style.meta or None,
    )  # fmt: skip
