"""Whatever a widget draws, no control code of a file, a server or a model reaches the terminal."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from app.wording.text import without_controls


class _NoControls(LineFilter):
    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        text = "".join(segment.text for segment in segments)
        if without_controls(text) == text:
            return segments
        return [
            segment if segment.control else Segment(without_controls(segment.text), segment.style)
            for segment in segments
        ]


NO_CONTROLS = _NoControls()
"""Always the same one, since strips remember it."""
