"""The console that batch and doctors print to."""

from __future__ import annotations

from rich.console import Console


def make_console(stderr: bool = False) -> Console:
    """A console whose lines are not wrapped to a terminal's width where there is no terminal."""
    console = Console(stderr=stderr, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = 120
    return console
