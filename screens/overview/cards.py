"""A card: what a method reached, its curve, and lines that open it at a place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget

from app.methods.place import Place
from screens.overview.card_content import CardContent, Curve
from screens.overview.pointers import MOST
from screens.widgets.spark import spark
from screens.widgets.steady import Steady
from screens.widgets.tones import tone

CURVE_LINES = 2


class Door(Steady, can_focus=True):
    """A line that opens a place; `›` stands before it under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", tooltip="Open what the line names."),
        # Here and not on the screen: the scrolling container in between has the same keys.
        Binding("up,k", "screen.move(-1)", "Line above", show=False),
        Binding("down,j", "screen.move(1)", "Line below", show=False),
        Binding("home,g", "screen.move(-99)", "First line", show=False),
        Binding("end,G", "screen.move(99)", "Last line", show=False),
    ]
    DEFAULT_CSS = """
    Door {
        height: auto;
        padding: 0 0 0 2;
        &:focus { background: $primary-muted; text-style: bold; }
        &:hover { background: $foreground 8%; }
        &.door-title { text-style: bold; padding: 0; }
    }
    """

    @dataclass
    class Opened(Message):
        """Show a method; at a place, if there is one."""

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


class CurveLine(Widget):
    """A small curve with its last and its extreme values."""

    DEFAULT_CSS = "CurveLine { display: none; color: $primary; &.-drawn { display: block; } }"
    COMPONENT_CLASSES: ClassVar[set[str]] = {"curve-line--label"}
    DEFAULT_CSS += "\nCurveLine > .curve-line--label { color: $text-muted; }"

    def __init__(self) -> None:
        super().__init__()
        self.styles.height = CURVE_LINES + 1
        self.curve: Curve | None = None

    def draw(self, curve: Curve | None) -> None:
        """Draw this."""
        if curve != self.curve:
            self.curve = curve
            self.set_class(curve is not None, "-drawn")
            self.refresh()

    def render(self) -> Text:
        if (curve := self.curve) is None:
            return Text()
        label = tone(self, "curve-line--label")
        figures = [
            f"{value:.{curve.digits}f}" for value in (max(curve.values), min(curve.values), curve.values[-1])
        ]
        top, bottom, last = figures
        edge = max(map(len, figures))
        width = max(4, self.content_size.width - edge - 3 - len(last) - 1)
        lines = spark(curve.values, min(width, 60), CURVE_LINES)
        text = Text(no_wrap=True, overflow="ellipsis")
        for at, line in enumerate(lines):
            mark = top if at == 0 else bottom if at == len(lines) - 1 else ""
            text.append(f"{mark:>{edge}} ┤", label).append(line)
            text.append(f" {last}" if at == _last_line(curve, len(lines)) else "").append("\n")
        return text.append(" " * (edge + 2) + curve.label, label)


def _last_line(curve: Curve, lines: int) -> int:
    """The line at whose height the curve ends."""
    low, high = min(curve.values), max(curve.values)
    if high <= low:
        return lines // 2
    return min(lines - 1, int((high - curve.values[-1]) / (high - low) * lines))


class Card(Vertical):
    """A method; `show` it whenever the session changed."""

    DEFAULT_CSS = """
    Card {
        height: auto;
        margin: 0 0 1 0;
        padding: 0 1;
        border-left: tall $primary 40%;
        & > .card-about { color: $text-muted; height: auto; }
        & > .card-verdict { height: auto; }
    }
    """

    def __init__(self, method: str) -> None:
        super().__init__()
        self.method = method
        self._content: CardContent | None = None
        # Held here, because the first state may come before they are mounted.
        self._title = Door(method, "door-title")
        self._about = Steady(classes="card-about")
        self._verdict = Steady(classes="card-verdict")
        self._curve = CurveLine()
        self._pointers = [Door(method, "door-pointer") for _ in range(MOST)]

    def compose(self) -> ComposeResult:
        yield from (self._title, self._about, self._verdict, self._curve, *self._pointers)

    def show(self, content: CardContent) -> None:
        """Draw it where it differs from before."""
        before, self._content = self._content, content
        if before is not None and _plain(before) == _plain(content):
            return
        self._title.lead(Text.assemble(content.title, "  ", (content.state, "not bold dim")))
        self._about.update(content.about)
        self._about.set_class(bool(content.sentences), "-said")
        self._verdict.update("\n".join(content.sentences))
        self._verdict.display = bool(content.sentences)
        self._curve.draw(content.curve)
        for at, door in enumerate(self._pointers):
            door.display = at < len(content.pointers)
            if door.display:
                door.lead(Text(f"→ {content.pointers[at].text}"), content.pointers[at].place)


def _plain(content: CardContent) -> tuple[object, ...]:
    """What is drawn: the places behind the lines are other objects each time."""
    texts = tuple(pointer.text for pointer in content.pointers)
    return content.title, content.state, content.sentences, content.curve, texts
