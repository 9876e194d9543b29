"""NO_COLOR: bold, dim and reverse say what colours say elsewhere; not one colour code is sent."""

from __future__ import annotations

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from app.terminal.segment_filter import SegmentFilter

_FAINT = 0.5
"""Difference in brightness between text and its background below which it becomes dim."""
_RAISED = 0.08
"""Difference in brightness between two backgrounds, 0 to 1, from which one marks something: it becomes reverse."""


@lru_cache
def plain_attributes(background: str) -> SegmentFilter:
    """The filter that takes every colour away, for screens with this background."""
    base = Color.parse(background)
    return SegmentFilter(
        lambda segment: Segment(segment.text, None if segment.style is None else _plain(segment.style, base))
    )


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
