"""All that the console uses of Textual and Rich beyond their public names, seen with Textual 8.2.8 and Rich 15.0.

No other module names any of it; `tests/app/test_textual_internals.py` fails where one of these names is gone.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from textual.app import App
from textual.geometry import Size
from textual.reactive import reactive
from textual.screen import Screen
from textual.scroll_view import ScrollView


class SelfSizedView(ScrollView):
    """A scrolling view that says itself how much there is to scroll: the screen is not laid out anew when that changes,
    which would cost more than drawing."""

    virtual_size = reactive(Size(0, 0), layout=False)

    def watch_virtual_size(self, virtual_size: Size) -> None:
        """Let the scroll bars follow."""
        self._scroll_update(virtual_size)


def without_markup(console: Console) -> None:
    """Brackets in plain strings, which come from files, servers and models, are brackets."""
    console._markup = False


def lay_out(screen: Screen[Any]) -> None:
    """Lay the screen out at once."""
    screen._refresh_layout()


def terminal_busy(app: App[Any]) -> bool:
    """Whether a slow terminal has not taken yet what was drawn: it waits in the queue of Textual's writing thread."""
    writer = getattr(app._driver, "_writer_thread", None)
    return writer is not None and not writer._queue.empty()
