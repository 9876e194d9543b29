"""Help for the current screen: all keys that work there now, and what it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import ActiveBinding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.dom import DOMNode
from textual.screen import ModalScreen, Screen
from textual.widgets import Markdown, Static

from app.commands import DIALOG, bindings, commands_without_key
from app.key_rows import key_rows
from screens.widgets.key_line import KeyLine
from screens.widgets.tab_line import TabLine

_PLACES = {
    "PlaceLink": "on a line with →",
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
    """Shows the keys bound on a screen and its focused widget, then their texts."""

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
        self._without_key = [(each.label, each.help) for each, _ in commands_without_key(about)]

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Help"
            with VerticalScroll():
                yield Static(_keys(self._sections, self._without_key), classes="help-keys", markup=False)
                for text in self._texts:
                    yield Markdown(text)
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_close(self) -> None:
        """Close the help."""
        self.dismiss()


def tab_first(text: str, tabs: Sequence[str], shown: str) -> str:
    """The text of a screen with tabs, in the order heading, what it says of the tab `shown`, all else. What it says of
    a tab begins with its name, `*Results* compares …`, and ends with the paragraph or where another tab begins."""
    heading, _, rest = text.partition("\n\n")
    names = "|".join(map(re.escape, tabs))
    parts = [part for part in re.split(rf"\n\n|(?<=[.;])\s+(?=\*(?:{names})\* )", rest) if part.strip()]
    parts.sort(key=lambda part: not part.startswith(f"*{shown}* "))
    return "\n\n".join([heading, *parts])


def _text_of(screen: Screen[Any]) -> str | None:
    text, tabs = getattr(screen, "HELP", None), [tab.label for tab in getattr(screen, "TABS", ())]
    return tab_first(text, tabs, tabs[screen.query_one(TabLine).active]) if text and tabs else text


def _texts(screen: Screen[Any]) -> Iterator[str]:
    """The screen's text, then its focused widget's."""
    texts = [_text_of(screen)]
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


def _keys(sections: list[tuple[str, list[ActiveBinding]]], without_key: Sequence[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(justify="right", style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1, style="dim")
    for title, actives in sections:
        table.add_row("", Text(title, "bold underline"), "")
        for row in key_rows(
            (each.binding, [each.node.app.get_key_display(each.binding)]) for each in actives
        ):
            table.add_row(" ".join(row.shown_keys), row.label, row.help)
        table.add_row("", "", "")
    if without_key:
        table.add_row("", Text("in ^p, without a key", "bold underline"), "")
    for label, what in without_key:
        table.add_row("", label, what)
    return table
