"""A scrolling pane that draws the detail of a row in the theme's tones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import RenderableType
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from app.blocks.block import Target
from app.blocks.model_text import Safe
from app.textual_internals import SelfSizedView
from screens.widgets.links import Highlighted, Link, find_links, target_of
from screens.widgets.tones import tone

Draw = Callable[[dict[str, Style], int], RenderableType]
"""Draws with a palette, in a width."""

_TONES = ("dim", "strong", "good", "bad", "accent", "warn")
_BOLD = Style(bold=True)


class DetailPane(SelfSizedView):
    """Shows what `show` was given, and draws it again for another width or theme. It is drawn once, not a second time
    to measure it, and the screen is not laid out anew."""

    DEFAULT_CSS = """
    DetailPane {
        padding: 0 1;
        overflow-x: hidden;
        background: $background;
        scrollbar-size-vertical: 1;
        &:focus { background-tint: $foreground 3%; }
    }
    """
    BINDINGS = [
        Binding("tab", "link(1)", "Id", show=False, tooltip="Choose the next underlined id."),
        Binding(
            "shift+tab", "link(-1)", "Previous id", show=False, tooltip="Choose the previous underlined id."
        ),
        Binding("enter", "follow", "Go to", tooltip="Go to the chosen id; backspace comes back."),
    ]

    @dataclass
    class Followed(Message):
        """An id was chosen: go there."""

        target: Target

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._draw: Draw | None = None
        self._chosen: Target | None = None
        self._may_lead = self._has_links = False
        self._lines: list[Strip] = []
        self._lines_width = -1
        self._drawn_in: dict[str, Style] = {}
        self._base = Style.null()
        self._waits = False

    def show(self, draw: Draw | None, top: bool = True, links: bool = False) -> None:
        """Draw this from now on; from its top if it is another thing than before. `links`: it has ids to follow."""
        self._draw, self._may_lead = draw, links
        self._chosen = None if top else self._chosen
        self._redraw()
        if top:
            self.scroll_home(animate=False)

    def on_resize(self) -> None:
        self._redraw()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self._drawn_in and self.palette != self._drawn_in:  # most updates leave the tones as they are
            self._redraw()

    @property
    def palette(self) -> dict[str, Style]:
        """The theme's tones as styles to draw with."""
        tones = {name: tone(self, name) for name in _TONES}
        bold = {name: tones[name] + _BOLD for name in ("good", "accent")}
        return {**tones, **bold, "heading": tones["dim"] + _BOLD}

    # ------------------------------------------------------------ drawing

    def _redraw(self) -> None:
        """Draw again, once for all that was asked for meanwhile."""
        self._lines_width = -1
        if self.is_mounted and not self._waits:
            self._waits = self.call_later(self._lay_out)

    def _lay_out(self) -> None:
        self._waits = False
        width = self.scrollable_content_region.width
        leads = self._may_lead and bool(self.links())  # before a scroll bar makes the width another
        self.virtual_size = Size(width, len(self._drawn(width)))
        if leads != self._has_links:
            self._has_links = leads
            self.refresh_bindings()
        self.refresh()

    def _drawn(self, width: int) -> list[Strip]:
        """The lines in this width."""
        if width != self._lines_width:
            self._lines, self._lines_width = self._draw_lines(width), width
        return self._lines

    def _draw_lines(self, width: int) -> list[Strip]:
        if self._draw is None or width <= 0:
            return []
        self._drawn_in = self.palette
        drawn: RenderableType = Safe(self._draw(self._drawn_in, width))
        if self._chosen is not None:
            drawn = Highlighted(drawn, self._chosen)
        options = self.app.console_options.update(width=width, height=None, highlight=False)
        return [Strip(line) for line in self.app.console.render_lines(drawn, options, pad=False)]

    def render_lines(self, crop: Region) -> list[Strip]:
        self._base = self.rich_style  # put together anew each time it is asked for
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        if width != self._lines_width:  # the scroll bar came or went
            self._redraw()
        lines, line, base = self._drawn(width), round(self.scroll_y) + y, self._base
        if line >= len(lines):
            return Strip.blank(width, base)
        return lines[line].apply_style(base).extend_cell_length(width, base)

    # ------------------------------------------------------------ ids

    def links(self) -> list[Link]:
        """The ids that can be followed, each once."""
        first: dict[Target, Link] = {}
        for one in find_links(self._drawn(self.scrollable_content_region.width)):
            first.setdefault(one.target, one)
        return list(first.values())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without ids `tab` and `enter` do what they do elsewhere; nothing lies to the left or right."""
        if action in ("scroll_left", "scroll_right"):
            return False
        return self._has_links if action in ("link", "follow") else True

    def action_link(self, by: int) -> None:
        """Choose the next id; after the last one the focus goes on."""
        links = self.links()
        targets = [one.target for one in links]
        at = 0 if by > 0 else len(links) - 1
        if self._chosen is not None and self._chosen in targets:
            at = targets.index(self._chosen) + by
        if not 0 <= at < len(links):
            self._choose(None)
            self.screen.focus_next() if by > 0 else self.screen.focus_previous()
            return
        self._choose(links[at])

    def action_follow(self) -> None:
        """Go to the chosen id; choose the first one where none is."""
        if self._chosen is not None:
            self.post_message(self.Followed(self._chosen))
        elif links := self.links():
            self._choose(links[0])

    def on_click(self, event: events.Click) -> None:
        """A click on an id goes there."""
        if (target := target_of(event.style)) is not None:
            self.post_message(self.Followed(target))

    def _choose(self, link: Link | None) -> None:
        self._chosen = None if link is None else link.target
        self._redraw()
        if link is not None:
            self._see(link.line, self.size.height)

    def _see(self, line: int, room: int) -> None:
        """Scroll to a line that is not in the first lines, `room`, of what is seen."""
        if not self.scroll_y <= line < self.scroll_y + room:
            self.scroll_to(y=max(0, line - 1), animate=False)

    def see_sign(self, sign: str) -> None:
        """Scroll to the line that begins with a sign: there and below it is what the sign is for."""
        lines = self._drawn(self.scrollable_content_region.width)
        for at in [at for at, line in enumerate(lines) if line.text.lstrip().startswith(sign)][:1]:
            self._see(at, self.size.height // 2)
