"""Pictures drawn with half characters."""

from __future__ import annotations

import pytest

from app.blocks.thumbnail import _under_even_light, thumbnail
from tests.synthetic_pool import ONE, SEVEN, picture


def shape(pixels: str, width: int = 8) -> list[str]:
    return [line.plain for line in thumbnail(pixels, width)]


def brightness(line, column: int) -> tuple[int, int]:  # type: ignore[no-untyped-def]
    """What is seen of a character, above and below: red of either half."""
    style = line.spans[column].style
    front, back = (colour.get_truecolor().red for colour in (style.color, style.bgcolor))
    sign = line.plain[column]
    return {"▀": (front, back), "▄": (back, front), "█": (front, front), " ": (back, back)}[sign]


def test_the_digit_is_seen_without_colour() -> None:
    assert shape(picture(SEVEN)) == [" ▀▀▀▀██ ", "    ██  ", "   ██   ", "  ▀▀    "]
    assert shape(picture(ONE)) == ["  ▄██   ", "   ██   ", "   ██   ", "  ▀▀▀▀  "]


@pytest.mark.parametrize("digit", [ONE, SEVEN])
def test_a_shade_across_the_picture_hides_nothing(digit: tuple[str, ...]) -> None:
    """At one grey a pixel the left of the digit is darker than the paper at the right."""
    ink = [place for place, sign in enumerate("".join(digit)) if sign == "#"]
    lines = shape(picture(digit, shade=1))
    seen = [lines[place // 16][place % 8] in ("█", "▀▄"[place // 8 % 2]) for place in ink]
    assert sum(seen) >= 0.9 * len(ink)


@pytest.mark.parametrize("digit", [ONE, SEVEN])
def test_bright_is_bright(digit: tuple[str, ...]) -> None:
    """Both halves of every character, whatever sign draws them."""
    lines = thumbnail(picture(digit), 8)
    for number, line in enumerate(lines):
        for column in range(8):
            for half, value in enumerate(brightness(line, column)):
                assert (value > 127) == (digit[2 * number + half][column] == "#"), (number, column)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (3, 5), (16, 16), (8, 1)])
def test_other_sizes(width: int, height: int) -> None:
    lines = shape("".join(f"{(3 * i) % 16:x}" for i in range(width * height)), width)
    assert len(lines) == (height + 1) // 2 and {len(line) for line in lines} == {width}


def test_one_grey_all_over_is_no_error() -> None:
    assert shape("7" * 64) == [" " * 8] * 4


def test_a_shade_down_and_across_is_taken_away() -> None:
    """3 a line and 1 a column; a dot of 9 among nine raises their mean by 1."""
    assert _under_even_light([[0, 1, 2], [3, 4, 5]]) == [[0.0] * 3] * 2
    lit = _under_even_light([[0, 0, 0], [0, 9, 0], [0, 0, 0]])
    assert lit == [[-1.0, -1.0, -1.0], [-1.0, 8.0, -1.0], [-1.0, -1.0, -1.0]]
