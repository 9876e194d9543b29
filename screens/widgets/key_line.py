"""The last line of a screen: what the keys do here now. Where room is short, the least needed go first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import ActiveBinding
from textual.command import CommandPalette
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from app.keys.commands import rank
from screens.widgets.tones import tone

_OF_PALETTE = "↑↓ choose  enter do it  esc close"
_TYPED = frozenset({"slash", "minus", "plus", "underscore"})
"""Keys that write their sign where text is typed. Textual knows that of all others."""


@dataclass(frozen=True)
class Key:
    """A key, its word, and what it does."""

    display: str
    word: str
    active: ActiveBinding
    rank: int

    @property
    def width(self) -> int:
        """Cells, with the gap behind it."""
        return len(self.display) + len(self.word) + 3


class KeyLine(Widget):
    """Like a footer: the focused widget's keys, then the screen's, then those of everywhere; each can be clicked."""

    COMPONENT_CLASSES = {"key-line--key", "key-line--word"}
    DEFAULT_CSS = """
    KeyLine {
        dock: bottom;
        height: 1;
        padding: 0 1;
        background: $footer-background;
        & > .key-line--key { color: $footer-key-foreground; text-style: bold; }
        & > .key-line--word { color: $footer-description-foreground; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: list[Key] = []

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[Any]) -> None:
        if screen is self.screen:
            if (focused := screen.focused) is not None:
                for name in ("scroll_y", "virtual_size"):
                    self.watch(focused, name, self._scrolled, init=False)
            self.refresh()

    def _scrolled(self) -> None:
        """There may be more below the focused pane, or nothing any more."""
        if self._keys != fitting(keys_of(self.screen), self.content_size.width):
            self.refresh()

    def render(self) -> Text:
        key_style = tone(self, "key-line--key")
        word_style = tone(self, "key-line--word")
        text = Text()
        if isinstance(self.app.screen, CommandPalette):
            return text.append(_OF_PALETTE, word_style)
        self._keys = fitting(keys_of(self.screen), self.content_size.width)
        for at, key in enumerate(self._keys):
            place = Style(meta={"key": at})
            text.append(key.display, key_style + place)
            text.append(f" {key.word}", word_style + place).append("  ")
        return text

    async def on_click(self, event: events.Click) -> None:
        if (at := event.style.meta.get("key")) is not None:
            active = self._keys[at].active
            await self.app.run_action(active.binding.action, active.node)


def keys_of(screen: Screen[Any]) -> list[Key]:
    """The keys to be shown, one for each command."""
    keys: dict[str, Key] = {}
    typing = isinstance(screen.focused, Input)
    for active in screen.active_bindings.values():
        binding = active.binding
        if typing and binding.key in _TYPED and not binding.priority:
            continue
        more = binding.action == "page_down" and _has_more_below(active.node)
        word = "More" if more else binding.description if binding.show else ""
        if word and active.enabled:
            display = screen.app.get_key_display(binding)
            keys.setdefault(binding.action, Key(display, word, active, rank(binding.action)))
    return list(keys.values())


def _has_more_below(node: DOMNode) -> bool:
    return isinstance(node, Widget) and node.scroll_y < node.max_scroll_y


def fitting(keys: list[Key], width: int) -> list[Key]:
    """The most needed of `keys` that fit, in their order."""
    kept: set[int] = set()
    room = width + 2
    for at in sorted(range(len(keys)), key=lambda at: (keys[at].rank, at)):
        if keys[at].width <= room:
            kept.add(at)
            room -= keys[at].width
        elif keys[at].rank > 1:
            break
    return [key for at, key in enumerate(keys) if at in kept]
