"""A scrolling pane that draws the detail of a row in the theme's tones."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.console import RenderableType
from rich.style import Style
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.getters import query_one
from textual.widgets import Static

from screens.widgets.model_text import Safe
from screens.widgets.tones import tone

Draw = Callable[[dict[str, Style], int], RenderableType]
"""Draws with a palette, in a width."""

_TONES = ("dim", "strong", "good", "bad", "accent", "warn", "heading")


class DetailPane(VerticalScroll):
    """Shows what `show` was given, and draws it again for another width or theme."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"detail-pane--{tone}" for tone in _TONES}
    DEFAULT_CSS = """
    DetailPane {
        padding: 0 1;
        background: $background;
        scrollbar-size-vertical: 1;
        & > .detail-pane--dim { color: $text-muted; }
        & > .detail-pane--strong { text-style: bold; }
        & > .detail-pane--good { color: $text-success; text-style: bold; }
        & > .detail-pane--bad { color: $text-error; text-style: bold; }
        & > .detail-pane--accent { color: $text-accent; text-style: bold; }
        & > .detail-pane--warn { color: $text-warning; }
        & > .detail-pane--heading { color: $text-muted; text-style: underline; }
        &:focus { background-tint: $foreground 3%; }
        & > Static { width: 1fr; height: auto; }
    }
    """
    HELP = "Everything about the row under the cursor. The arrows scroll; `escape` goes back to the table.\n"

    content = query_one("#detail-content", Static)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._draw: Draw | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="detail-content", markup=False)

    def show(self, draw: Draw | None, top: bool = True) -> None:
        """Draw this from now on; from its top if it is another thing than before."""
        self._draw = draw
        self._redraw()
        if top:
            self.scroll_home(animate=False)

    def on_resize(self) -> None:
        self._redraw()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_mounted:
            self.call_later(self._redraw)

    @property
    def palette(self) -> dict[str, Style]:
        """The theme's tones as styles to draw with."""
        return {name: tone(self, f"detail-pane--{name}") for name in _TONES}

    def _redraw(self) -> None:
        width = self.scrollable_content_region.width
        if width > 0:
            self.content.update("" if self._draw is None else Safe(self._draw(self.palette, width)))
