"""Progress bars of one line of text, half a cell exact."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text


def bar(fraction: float, width: int, done: Style | str = "", rest: Style | str = "") -> Text:
    """`━━━━╸─────`: what is done is heavy, what is left is light, so it reads without colour."""
    if width <= 0:
        return Text()
    halves = round(max(0.0, min(1.0, fraction)) * width * 2)
    full, half = divmod(halves, 2)
    text = Text("━" * full + "╸" * half, done)
    return text.append("─" * (width - full - half), rest)


def plain_bar(fraction: float, width: int) -> str:
    """The same as plain text."""
    return bar(fraction, width).plain
