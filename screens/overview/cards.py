"""A method's card: what it reached, its curve, and lines that open it at a place; and a tile, which shows less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.screen import Screen

from app.methods.place import Place
from screens.overview.card_content import MOST_HIGHLIGHTS, CardContent
from screens.overview.curve_view import CurveView
from screens.widgets.lazy_static import LazyStatic


class PlaceLink(LazyStatic, can_focus=True):
    """A line that opens a method, or a place in it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", tooltip="Open what the line names."),
        # Here and not on the screen: the scrolling container in between has the same keys.
        Binding("up,k", "screen.move(-1)", "Line above", show=False),
        Binding("down,j", "screen.move(1)", "Line below", show=False),
        Binding("home,g", "screen.move(-99)", "First line", show=False),
        Binding("end,G", "screen.move(99)", "Last line", show=False),
    ]
    DEFAULT_CSS = """
    PlaceLink {
        height: auto;
        padding: 0 0 0 2;
        &:focus { background: $primary-muted; text-style: bold; }
        &:hover { background: $foreground 8%; }
        &.link-title { text-style: bold; padding: 0; }
    }
    """

    @dataclass
    class Opened(Message):
        """The line of a method was opened; `place`: what it leads to, if it is a place."""

        method: str
        place: Place | None

    def __init__(self, method: str, classes: str = "") -> None:
        super().__init__(classes=classes)
        self.method = method
        self.place: Place | None = None

    def lead(self, text: Text, place: Place | None = None) -> None:
        """Say this, and lead there."""
        self.place = place
        self.update(text)

    def action_open(self) -> None:
        """Open it."""
        self.post_message(self.Opened(self.method, self.place))

    def on_click(self) -> None:
        self.action_open()


def move_focus(screen: Screen[Any], by: int) -> None:
    """From the line under the cursor to another one that is shown."""
    links = [link for link in screen.query(PlaceLink) if link.display]
    if links:
        at = next((at + by for at, link in enumerate(links) if link is screen.focused), 0)
        links[max(0, min(at, len(links) - 1))].focus()


class Card(Vertical):
    """A method; `show` it whenever the session changed."""

    DEFAULT_CSS = """
    Card {
        height: auto;
        & > .card-about { color: $text-muted; height: auto; }
        & > .card-verdict { height: auto; }
        & > CurveView { height: 8; }
    }
    """

    def __init__(self, method: str) -> None:
        super().__init__()
        # Held here, because the first state may come before they are mounted.
        self._title = PlaceLink(method, "link-title")
        self._about = LazyStatic(classes="card-about")
        self._verdict = LazyStatic(classes="card-verdict")
        self._curve = CurveView()
        self._highlights = [PlaceLink(method) for _ in range(MOST_HIGHLIGHTS)]

    def compose(self) -> ComposeResult:
        yield from (self._title, self._about, self._verdict, self._curve, *self._highlights)

    def show(self, content: CardContent) -> None:
        """Draw it where it differs from before."""
        self._title.lead(Text.assemble(content.title, "  ", (content.state, "not bold dim")))
        self._about.update(content.about)
        self._verdict.update("\n".join(content.sentences))
        self._curve.show(content.curve)
        for at, link in enumerate(self._highlights):
            link.display = at < len(content.highlights)
            if link.display:
                link.lead(Text(f"→ {content.highlights[at].text}"), content.highlights[at].place)


class Tile(Vertical):
    """A method's sentences and its curve in the room that is there; a click opens its card."""

    DEFAULT_CSS = """
    Tile {
        padding: 0 1;
        & > .tile-title { text-style: bold; height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
        & > .tile-verdict { height: auto; }
        & > CurveView { height: 1fr; min-height: 4; }
    }
    """

    def __init__(self, method: str) -> None:
        super().__init__()
        self.method = method
        self._title = LazyStatic(classes="tile-title")
        self._verdict = LazyStatic(classes="tile-verdict")
        self._curve = CurveView()

    def compose(self) -> ComposeResult:
        yield from (self._title, self._verdict, self._curve)

    def show(self, content: CardContent) -> None:
        """Draw it where it differs from before."""
        self._title.update(content.title)
        self._verdict.update("\n".join(content.sentences[:1]) or content.about)
        self._curve.show(content.curve)

    def on_click(self) -> None:
        self.post_message(PlaceLink.Opened(self.method, None))
