"""The console that batch and doctors print to: names, ids and messages come from files and servers, and cannot command
the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from app.wording.text import without_controls


class _SafeConsole(Console):
    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for text, style, _ in super().render(renderable, options):
            yield Segment(without_controls(text), style)


def make_console(stderr: bool = False) -> Console:
    """A console whose lines are not wrapped to a terminal's width where there is no terminal."""
    console = _SafeConsole(markup=False, stderr=stderr, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = 120
    return console
