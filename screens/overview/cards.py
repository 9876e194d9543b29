"""What a method reached, on a tile of the overview and on its card: in words, and its curve."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from screens.overview.card_content import CardContent
from screens.overview.curve_view import CurveView
from screens.widgets.lazy_static import LazyStatic


class Card(Vertical):
    """A method; `show` it whenever the session changed."""

    DEFAULT_CSS = """
    Card {
        height: auto;
        & > .card-title { text-style: bold; height: auto; }
        & > .card-about { color: $text-muted; height: auto; }
        & > .card-verdict { height: auto; }
        & > CurveView { height: 8; }
    }
    """

    @dataclass
    class Clicked(Message):
        """The card of a method was clicked."""

        method: str

    def __init__(self) -> None:
        super().__init__()
        self.method = ""
        # Held here, because the first state may come before they are mounted.
        self._title = LazyStatic(classes="card-title")
        self._about = LazyStatic(classes="card-about")
        self._verdict = LazyStatic(classes="card-verdict")
        self._curve = CurveView()

    def compose(self) -> ComposeResult:
        yield from (self._title, self._about, self._verdict, self._curve)

    def show(self, method: str, content: CardContent) -> None:
        """Draw it where it differs from before."""
        self.method = method
        self._title.update(Text.assemble(content.title, "  ", (content.state, "not bold dim")))
        self._about.update(content.about)
        self._verdict.update("\n".join(content.sentences))
        self._curve.show(content.curve)

    def on_click(self) -> None:
        self.post_message(self.Clicked(self.method))
