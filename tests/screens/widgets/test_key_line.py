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
from tests.named_tones import name_tones, parts

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
        Binding("slash", "count('/')", "Find"),
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
        for word in ("First", "Twice", "New", "Find"):
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
    assert app.counted == ["a", "c", "+", "/"]
    assert not {"First", "New", "Twice", "Find"} & set(typed)
    assert spans == [] or {"key"} == {name for meta in spans for name in meta}


async def test_more_stands_where_there_is_more_below(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 99 lines; at their end the key has its own word again. Keys and words have tones of their own."""
    name_tones(monkeypatch, "widgets.key_line")
    app = KeysApp()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = Keys()
        await app.push_screen(screen)
        box, line = screen.query_one(VerticalScroll), screen.query_one(KeyLine)
        box.focus()
        seen: list[bool] = []
        for place in (0, box.max_scroll_y - 1, box.max_scroll_y):
            box.scroll_to(y=place, animate=False)
            await pilot.pause()
            seen.append("More" in line.render().plain)
        drawn = parts(line.render())
        at = drawn.index(("a", "key-line--key"))
        assert drawn[at : at + 4] == [
            ("a", "key-line--key"),
            (" First", "key-line--word"),
            ("  ", ""),
            ("+", "key-line--key"),
        ]
    assert seen == [True, True, False]


async def test_over_the_palette_stand_the_palettes_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    app = KeysApp()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = Keys()
        await app.push_screen(screen)
        await pilot.pause()
        app.action_command_palette()
        await pilot.pause()
        assert screen.query_one(KeyLine).render().plain == "↑↓ choose  enter do it  esc close"


async def test_a_click_beside_the_keys_does_nothing() -> None:
    app = KeysApp()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = Keys()
        await app.push_screen(screen)
        screen.query_one(VerticalScroll).focus()
        await pilot.pause()
        line = screen.query_one(KeyLine)
        end = len(line.render().plain)
        for x in (0, end, 78):
            await pilot.click(KeyLine, offset=(x, 0))
    assert end < 78 and app.counted == []


def test_a_key_that_is_too_long_leaves_the_room_to_shorter_ones_that_matter_as_much() -> None:
    """Of ten cells; what matters less does not go before it."""
    long, short = Key("a", "x" * 20, ANY, 1), Key("b", "short", ANY, 1)
    assert fitting([long, short], 10) == [short]
    less, least = Key("a", "x" * 20, ANY, 2), Key("b", "short", ANY, 2)
    assert fitting([less, least], 10) == []
