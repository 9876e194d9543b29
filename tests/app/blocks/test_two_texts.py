"""Two texts of the same thing, side by side and below each other."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.style import Style

from app.blocks.two_texts import _pairs, draw_texts
from tests.app.methods.esm.made import PALETTE

_OWN = "one apple\n\n  two pears\n\nthree"
_GREEDY = "one apple\n\n  two plums\n\nthree\n\nfour"


def lines(drawn: RenderableType, width: int) -> list[str]:
    """What is drawn, as text."""
    console = Console(width=width, no_color=True)
    rendered = console.render_lines(drawn, console.options.update(width=width))
    return ["".join(segment.text for segment in line).rstrip() for line in rendered]


def test_a_long_text_is_compared_with_none_whichever_it_is() -> None:
    """Of 401 lines the last is that of the other text: the lines stand beside each other as they come."""
    long = "\n".join([*["x"] * 400, "same"])
    for new, old, first in (("same", long, ("same", "x")), (long, "same", ("x", "same"))):
        pairs = list(_pairs(new, old))
        assert len(pairs) == 401 and pairs[0][:2] == first
    assert list(_pairs("same", long.removeprefix("x\n")))[-1][:2] == ("same", "same"), "400 are compared"


def test_differences_have_signs_beside_each_other_and_below() -> None:
    """+ before what only the first has, − before what only the second has; indentation stays; ▸ marks a segment."""
    here = (_OWN.index("  two"), _OWN.index("three"))
    below = lines(draw_texts(_OWN, _GREEDY, ("esm", "greedy"), PALETTE, 60, here), 60)
    assert below == [
        "   + esm   − greedy",
        "   one apple",
        "−    two plums",
        "+▸   two pears",
        "   three",
        "−  four",
    ]
    beside = lines(draw_texts(_OWN, _GREEDY, ("esm", "greedy"), PALETTE, 100, here), 100)
    assert beside[2].startswith("+▸   two pears") and beside[2].partition("−")[2] == "    two plums"
    assert beside[4].strip() == "−  four"


def test_a_line_of_the_second_text_alone_has_no_mark() -> None:
    assert lines(draw_texts("one", "one\ntwo", ("a", "b"), PALETTE, 60, (0, 3)), 60)[1:] == [
        " ▸ one",
        "−  two",
    ]


def test_texts_of_very_many_lines_stand_beside_each_other_without_being_compared() -> None:
    """401 lines of which the first is new: compared, 400 of them would be the same."""
    new, old = "\n".join(map(str, range(401))), "\n".join(map(str, range(1, 401)))
    below = lines(draw_texts(new, old, ("a", "b"), PALETTE, 60), 60)
    assert below[1:5] == ["−  1", "+  0", "−  2", "+  1"] and below[-1] == "+  400"
    assert len(below) == 1 + 400 + 401


def test_from_ninety_columns_on_there_is_room_for_both() -> None:
    for width, abreast in ((89, False), (90, True)):
        drawn = lines(draw_texts("one", "two", ("a", "b"), PALETTE, width), width)
        assert any("one" in line and "two" in line for line in drawn) is abreast


def test_the_signs_and_words_that_differ_have_their_tones() -> None:
    """What only the first has is accented, what only the second has warns; what is the same has no tone."""
    palette = PALETTE | {"accent": Style(bold=True), "warn": Style(italic=True), "dim": Style(dim=True)}
    for width in (60, 100):
        console = Console(width=width)
        segments = list(console.render(draw_texts("one three", "one two", ("a", "b"), palette, width)))
        tones = {s.text.strip(): s.style or Style.null() for s in segments if s.text.strip()}
        assert tones["three"].bold and tones["two"].italic and tones["+"].bold and tones["−"].italic
        assert not tones["one"].bold and not tones["one"].italic


def test_the_mark_stands_at_each_line_of_the_segment() -> None:
    """Of four equal lines the second and third."""
    text = "one\ntwo\nthree\nfour"
    drawn = lines(draw_texts(text, text, ("x", "y"), PALETTE, 60, (4, 14)), 60)
    assert drawn[1:] == ["   one", " ▸ two", " ▸ three", "   four"]


def test_empty_lines_are_no_difference_and_the_mark_is_of_the_first_text() -> None:
    drawn = lines(draw_texts("a\n\n\nb", "a\nb", ("x", "y"), PALETTE, 60, (0, 1)), 60)
    assert drawn == ["   + x   − y", " ▸ a", "   b"]
