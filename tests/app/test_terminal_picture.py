"""What is sent is enough: a terminal that gets only the changes shows what one does that gets everything."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import get_character_cell_size
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from app.terminal.picture import Look, TerminalPicture, _switch

WIDTH, HEIGHT = 24, 4
_CODE = re.compile(r"\x1b\[([\d;]*)([Hm])")
STYLES = [
    Style(), Style(bold=True), Style(color="#123456"), Style(color="#123456", bgcolor="red", bold=True),
    Style(bgcolor="#00ff00", dim=True),
]  # fmt: skip


class Terminal:
    """The little of a terminal that is needed: characters of one and two cells, SGR codes, cursor moves."""

    def __init__(self) -> None:
        self.cells = [[(" ", "")] * WIDTH for _ in range(HEIGHT)]
        self.x = self.y = 0
        self.look: dict[str, str] = {}

    def write(self, text: str) -> None:
        at = 0
        while at < len(text):
            code = _CODE.match(text, at)
            if code is None:
                self._put(text[at])
                at += 1
                continue
            at = code.end()
            if code[2] == "H":
                self.y, self.x = (int(n) - 1 for n in code[1].split(";"))
            else:
                self._dress(code[1].split(";"))

    def _dress(self, codes: list[str]) -> None:
        while codes:
            code = codes.pop(0)
            if code in ("0", ""):
                self.look = {}
            elif code in ("38", "48"):
                self.look[code] = ";".join(codes.pop(0) for _ in range(4))
            elif code in ("39", "49"):
                self.look.pop({"39": "38", "49": "48"}[code], None)
            elif 30 <= int(code) < 38 or 40 <= int(code) < 48:
                self.look[f"{code[0]}8"] = code
            else:
                self.look[code] = ""

    def _put(self, character: str) -> None:
        size, look = get_character_cell_size(character), str(sorted(self.look.items()))
        line = self.cells[self.y]
        for x in range(self.x, self.x + size):  # half of a wide character is not left standing
            if line[x][0] == "" and x > 0:
                line[x - 1] = (" ", line[x - 1][1])
            if x + 1 < WIDTH and line[x + 1][0] == "":
                line[x + 1] = (" ", line[x + 1][1])
        line[self.x] = (character, look)
        if size == 2:
            line[self.x + 1] = ("", look)
        self.x += size


segments = st.builds(Segment, st.text("ab ─漢界", min_size=1, max_size=9), st.sampled_from(STYLES))


@st.composite
def lines(draw: st.DrawFn) -> Strip:
    strip = Strip(draw(st.lists(segments, max_size=6)))
    return strip.adjust_cell_length(WIDTH)


frames = st.lists(st.lists(lines(), min_size=HEIGHT, max_size=HEIGHT), min_size=1, max_size=4)


@settings(max_examples=60)
@given(frames)
def test_changes_bring_a_terminal_to_where_everything_brings_it(shown: list[list[Strip]]) -> None:
    picture, followed = TerminalPicture(), Terminal()
    for frame in shown:
        update = LayoutUpdate([[strip] for strip in frame], Region(0, 0, WIDTH, HEIGHT))
        picture.draw(update, WIDTH, HEIGHT)
        followed.write(picture.changes())
        fresh, complete = TerminalPicture(), Terminal()
        fresh.draw(update, WIDTH, HEIGHT)
        complete.write(fresh.changes())
        assert followed.cells == complete.cells
        assert picture.changes() == ""


def _line(text: str, style: Style | None = None) -> Strip:
    return Strip([Segment(text.ljust(WIDTH), style)])


def _screen(*texts: str) -> LayoutUpdate:
    return LayoutUpdate([[_line(text)] for text in texts], Region(0, 0, WIDTH, len(texts)))


def test_only_what_differs_is_sent() -> None:
    picture = TerminalPicture()
    picture.draw(_screen("one", "two"), WIDTH, 2)
    assert "one" in picture.changes()
    picture.draw(_screen("one", "two"), WIDTH, 2)
    assert picture.changes() == ""
    picture.draw(_screen("one", "twa"), WIDTH, 2)
    assert picture.changes() == "\x1b[2;3Ha"


def test_a_frame_that_was_not_sent_is_sent_with_the_next() -> None:
    picture = TerminalPicture()
    picture.draw(_screen("one", "two"), WIDTH, 2)
    picture.changes()
    picture.draw(_screen("ONE", "two"), WIDTH, 2)
    picture.draw(ChopsUpdate([{}, {0: _line("TWO")}], [(1, 0, WIDTH)], [[], [WIDTH]]), WIDTH, 2)
    assert picture.changes() == "\x1b[1;1HONE\x1b[2;1HTWO"


def test_after_something_else_had_the_terminal_everything_is_sent() -> None:
    picture = TerminalPicture()
    picture.draw(_screen("one"), WIDTH, 1)
    everything = picture.changes()
    picture.forget()
    assert picture.changes() == everything


def test_joined_characters_are_never_cut() -> None:
    """Terminals differ in how wide a family is: the line is sent from the change to its end."""
    picture = TerminalPicture()
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    picture.draw(LayoutUpdate([[Strip([Segment(f"a{family}b c")])]], Region(0, 0, 10, 1)), 10, 1)
    picture.changes()
    picture.draw(LayoutUpdate([[Strip([Segment(f"x{family}b c")])]], Region(0, 0, 10, 1)), 10, 1)
    changes = picture.changes()
    assert changes.startswith(f"\x1b[1;1Hx{family}b c")


@pytest.mark.parametrize(
    ("attribute", "code"),
    [
        ("bold", "1"), ("dim", "2"), ("italic", "3"), ("underline", "4"), ("blink", "5"), ("reverse", "7"),
        ("conceal", "8"), ("strike", "9"), ("overline", "53"),
    ],
)  # fmt: skip
def test_the_code_of_an_attribute(attribute: str, code: str) -> None:
    """As ECMA-48 has them."""
    style = Style(**{attribute: True})  # type: ignore[arg-type]
    picture = TerminalPicture()
    picture.draw(LayoutUpdate([[Strip([Segment("x", style)])]], Region(0, 0, 1, 1)), 1, 1)
    assert picture.changes() == f"\x1b[1;1H\x1b[0;{code}mx\x1b[0m"


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        (Look("1", "31", "", ""), Look("1", "31", "", ""), ""),
        (Look("", "31", "44", ""), Look("", "", "", ""), "\x1b[39;49m"),
        (Look("1", "31", "", ""), Look("", "31", "44", ""), "\x1b[0;31;44m"),
        (Look("", "", "", ""), Look("", "", "", "<link>"), "<link>"),
        (Look("", "", "", "<link>"), Look("1", "", "", ""), "\x1b[0;1m\x1b]8;;\x1b\\"),
    ],
)
def test_the_codes_from_one_look_to_another(before: Look, after: Look, code: str) -> None:
    """A link that is over is ended."""
    assert _switch(before, after) == code
