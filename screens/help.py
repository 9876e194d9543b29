"""Help for the current screen: what it shows, and all keys that work there now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import ActiveBinding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.dom import DOMNode
from textual.screen import ModalScreen, Screen
from textual.widgets import Markdown, Static

from app.commands import DIALOG, bindings
from screens.widgets.key_line import KeyLine

_PLACES = {
    "Door": "on a line with →",
    "Input": "while typing",
    "StillTable": "in the table",
    "VerticalScroll": "to scroll",
    "VirtualTable": "in the table",
}
"""Where keys work, for widgets whose name says little to a reader."""
_OF_EVERY_WIDGET = (
    "screen.",
    "app.focus",
    "focus_",
    "maximize",
    "minimize",
    "blur",
    "page_left",
    "page_right",
)


class HelpScreen(ModalScreen[None]):
    """Shows the texts of a screen and its focused widget, and the keys bound there."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(DIALOG), ("question_mark,q,f1", "close", "")]
    DEFAULT_CSS = """
    HelpScreen {
        align: center middle;
        & > Vertical {
            width: 94%;
            max-width: 110;
            height: auto;
            max-height: 92%;
            border: round $border;
            border-title-color: $text;
            border-title-style: bold;
            background: $surface;
            & > VerticalScroll { height: auto; max-height: 100%; padding: 0 2; scrollbar-size-vertical: 1; }
        }
        & Markdown { height: auto; padding: 0; background: $surface; }
        & MarkdownH1 { content-align: left middle; color: $text; margin: 1 0; }
        & .help-keys { height: auto; margin: 1 0; }
    }
    """

    def __init__(self, about: Screen[Any]) -> None:
        super().__init__()
        self._texts = list(_texts(about))
        self._sections = _sections(about)

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Help"
            with VerticalScroll():
                for text in self._texts:
                    yield Markdown(text)
                yield Static(_keys(self._sections), classes="help-keys", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_close(self) -> None:
        """Close the help."""
        self.dismiss()


def _texts(screen: Screen[Any]) -> Iterator[str]:
    """The screen's own text, then its focused widget's."""
    texts = [getattr(screen, "HELP", None)]
    node: DOMNode | None = screen.focused
    while node is not None and node is not screen:
        texts.append(getattr(node, "HELP", None))
        node = node.parent
    yield from dict.fromkeys(text for text in texts if text)


def _sections(screen: Screen[Any]) -> list[tuple[str, list[ActiveBinding]]]:
    """Keys by where they are bound, the nearest first."""
    sections: dict[DOMNode, list[ActiveBinding]] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.system or not binding.description or binding.action.startswith(_OF_EVERY_WIDGET):
            continue
        sections.setdefault(active.node, []).append(active)
    order = sorted(sections, key=lambda node: (node is screen.app, node is screen))
    return [(_title(node, screen), sections[node]) for node in order]


def _title(node: DOMNode, screen: Screen[Any]) -> str:
    if node is screen:
        return "on this screen"
    name = type(node).__name__
    return "everywhere" if node is screen.app else _PLACES.get(name, f"in the {_words(name)}")


def _words(name: str) -> str:
    """`DecisionsPane` as `decisions pane`."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()


def _keys(sections: list[tuple[str, list[ActiveBinding]]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(justify="right", style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1, style="dim")
    for title, actives in sections:
        table.add_row("", Text(title, "bold underline"), "")
        shown: set[tuple[str, str]] = set()
        for active in actives:
            binding = active.binding
            if (binding.action, binding.description) in shown:
                continue
            shown.add((binding.action, binding.description))
            keys = [b for b in actives if b.binding.action == binding.action]
            names = dict.fromkeys(active.node.app.get_key_display(b.binding) for b in keys)
            table.add_row(" ".join(names), binding.description, binding.tooltip)
        table.add_row("", "", "")
    return table
