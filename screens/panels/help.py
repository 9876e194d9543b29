"""Help for the current screen: what it shows, and all keys that work there now."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Input, Markdown, Static, TextArea

from app.keys.commands import DIALOG, bindings, commands_without_key
from app.keys.key_rows import key_rows
from screens.panels.dialog import Dialog
from screens.widgets.tab_line import TabLine

_PLACES = {
    "LineList": "on a line",
    "LongField": "in the text",
    "StillTable": "in the table",
    "VirtualTable": "in the table",
}
"""Where keys work, for widgets whose name says little to a reader."""


Row = tuple[str, str, str]
"""Keys, label, what it does."""
_EDITING: Row = ("^w ^u ^k", "Edit", "Delete a word, all to the left, all to the right; → completes.")
"""In the place of the many keys of a field."""


class HelpScreen(Dialog[None]):
    """Shows the texts of a screen and its focused widget, then the keys bound there; the keys alone that are looked
    for."""

    BINDINGS = [
        *bindings(DIALOG),
        Binding(
            "slash", "search", "Search", tooltip="Show only the keys whose lines have the words you type."
        ),
        ("question_mark,q,f1", "close", ""),
    ]
    TITLE_WORD = "Help"
    DEFAULT_CSS = """
    HelpScreen {
        & Markdown { height: auto; padding: 0; background: $surface; }
        & MarkdownH1 { content-align: left middle; color: $text; margin: 1 0; }
        & .help-keys { margin: 1 0; }
    }
    """

    def __init__(self, about: Screen[Any]) -> None:
        super().__init__()
        self._texts = list(_texts(about))
        self._sections = _sections(about)

    def contents(self) -> ComposeResult:
        yield Input(placeholder="/ finds keys by the words of their lines; end: all keys")
        for text in self._texts:
            yield Markdown(text)
        yield Static(_keys(self._sections, []), classes="help-keys", markup=False)

    def action_search(self) -> None:
        """Type words."""
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _typed(self, message: Input.Changed) -> None:
        words = message.value.lower().split()
        self.query(Markdown).set(display=not words)
        self.query_one(".help-keys", Static).update(_keys(self._sections, words))


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


def _sections(screen: Screen[Any]) -> list[tuple[str, list[Row]]]:
    """Keys by where they are bound, the nearest first; then the commands without a key; last how a field is edited."""
    sections: dict[DOMNode, list[ActiveBinding]] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.description and not binding.system:
            sections.setdefault(active.node, []).append(active)
    order = sorted(sections, key=lambda node: (node is screen.app, node is screen))
    without_key = [("", each.label, each.help) for each, _ in commands_without_key(screen)]
    return [
        *((_title(node, screen), _rows(screen, sections[node])) for node in order),
        ("in ^p, without a key", without_key),
        ("while typing", [_EDITING] if isinstance(screen.focused, Input | TextArea) else []),
    ]


def _rows(screen: Screen[Any], actives: Sequence[ActiveBinding]) -> list[Row]:
    """Not of keys that nobody explains: those of every widget of Textual."""
    keys = ((each.binding, [screen.app.get_key_display(each.binding)]) for each in actives)
    return [(" ".join(row.shown_keys), row.label, row.help) for row in key_rows(keys) if row.help]


def _title(node: DOMNode, screen: Screen[Any]) -> str:
    if node is screen:
        return "on this screen"
    name = type(node).__name__
    return "everywhere" if node is screen.app else _PLACES.get(name, f"in the {_words(name)}")


def _words(name: str) -> str:
    """`DecisionsPane` as `decisions pane`."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()


def _keys(sections: Sequence[tuple[str, Sequence[Row]]], words: Sequence[str]) -> Table:
    """The rows in which all these words stand."""
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(justify="right", style="bold", no_wrap=True)
    table.add_column(max_width=20)
    table.add_column(ratio=1, style="dim")
    for title, rows in sections:
        matches = [row for row in rows if all(word in " ".join(row).lower() for word in words)]
        for row in [("", Text(title, "bold underline"), ""), *matches, ("", "", "")] if matches else []:
            table.add_row(*row)
    return table
