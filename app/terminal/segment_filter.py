"""Changes all that a widget draws, segment by segment."""

from __future__ import annotations

from collections.abc import Callable

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from app.wording.text import without_controls


class SegmentFilter(LineFilter):
    """Draws what `change` makes of each segment. Strips remember their filters: always use the same one."""

    def __init__(self, change: Callable[[Segment], Segment]) -> None:
        super().__init__()
        self._change = change

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments, changed; those that command the terminal as they are."""
        return [segment if segment.control else self._change(segment) for segment in segments]


NO_CONTROLS = SegmentFilter(lambda segment: Segment(without_controls(segment.text), segment.style))
"""Whatever a widget draws, no control code of a file, a server or a model reaches the terminal."""
