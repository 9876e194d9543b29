"""The last line of a screen: which keys stand in it, in what words, and what a click on them does."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from rich.style import Style
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import Input, Static

from screens.widgets.key_line import Key, KeyLine, fitting, keys_of

ANY: Any = None


@pytest.mark.parametrize(
    ("width", "words"),
    [
        (29, "one two three four"),
        (28, "one two four"),
        (20, "one two four"),
        (19, "two four"),
        (13, "two four"),
        (12, "four"),
        (6, "four"),
        (5, "two"),
        (4, ""),
    ],
)
def test_the_most_needed_keys_that_fit(width: int, words: str) -> None:
    """Of 7, 7, 9 and 8 cells, less the two of the gap behind the last; `four` is needed most, then `two`, then `one`.
    Where there is no room for what is needed most, the next takes it."""
    ranks = {"one": 3, "two": 2, "three": 4, "four": 0}
    keys = [Key("a", word, ANY, rank) for word, rank in ranks.items()]
    assert [key.width for key in keys] == [7, 7, 9, 8]
    assert " ".join(key.word for key in fitting(keys, width)) == words


class Keys(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "count('a')", "First"),
        Binding("plus", "count('+')", "New"),
        Binding("b", "count('b')", "Hidden", show=False),
        Binding("c", "count('c')", "Twice"),
        Binding("d", "count('c')", "Twice"),
        Binding("pagedown", "page_down", "Below"),
    ]

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static("\n".join(map(str, range(99))))
        yield Input()
        yield KeyLine()

    def action_count(self, what: str) -> None:
        self.app.counted.append(what)  # type: ignore[attr-defined]


class KeysApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.counted: list[str] = []


async def test_a_key_stands_once_and_letters_are_none_while_one_types() -> None:
    """A click does what the key under it does."""
    app = KeysApp()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = Keys()
        await app.push_screen(screen)
        screen.query_one(VerticalScroll).focus()
        await pilot.pause()
        words = [key.word for key in keys_of(screen)]
        line = screen.query_one(KeyLine)
        for word in ("First", "Twice", "New"):
            await pilot.click(KeyLine, offset=(line.render().plain.index(word) + 1, 0))
        screen.query_one(Input).focus()
        await pilot.pause()
        typed = [key.word for key in keys_of(screen)]
        spans = [span.style.meta for span in line.render().spans if isinstance(span.style, Style)]
    assert [word for word in words if word in ("First", "New", "Hidden", "Twice")] == [
        "First",
        "New",
        "Twice",
    ]
    assert app.counted == ["a", "c", "+"]
    assert not {"First", "New", "Twice"} & set(typed)
    assert spans == [] or {"key"} == {name for meta in spans for name in meta}
