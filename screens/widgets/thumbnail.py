"""Small greyscale pictures in text: two pixels a character, one above the other."""

from __future__ import annotations

from functools import lru_cache

from rich.style import Style
from rich.text import Text

_SIGNS = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}


@lru_cache(maxsize=1024)
def thumbnail(pixels: str, width: int) -> tuple[Text, ...]:
    """Lines of `width` characters. `pixels`: one hexadecimal digit each, line by line, 0 black.

    Greys are the pixels' own. Which half of a character is filled says what is brighter than its surroundings, so
    that the picture also reads without colour.
    """
    grey = [int(pixel, 16) for pixel in pixels]
    rows = [grey[first : first + width] for first in range(0, len(grey), width)]
    if len(rows) % 2:
        rows.append(rows[-1])
    bright = _bright(rows)
    return tuple(
        Text.assemble(
            *(
                _character(above, below, bright[line][column], bright[line + 1][column])
                for column, (above, below) in enumerate(zip(rows[line], rows[line + 1], strict=True))
            )
        )
        for line in range(0, len(rows), 2)
    )


def _character(above: int, below: int, above_bright: bool, below_bright: bool) -> tuple[str, Style]:
    sign = _SIGNS[above_bright, below_bright]
    if sign in " █":
        above = below = (above + below) // 2
    front, back = (below, above) if sign == "▄" else (above, below)
    return sign, Style(color=_colour(front), bgcolor=_colour(back))


def _colour(grey: int) -> str:
    return f"#{17 * grey:02x}{17 * grey:02x}{17 * grey:02x}"


def _bright(rows: list[list[int]]) -> list[list[bool]]:
    """What is above the plane that fits the greys best: light that falls from one side changes nothing."""
    height, width = len(rows), len(rows[0])
    mean = sum(map(sum, rows)) / (height * width)
    down = [line - (height - 1) / 2 for line in range(height)]
    across = [column - (width - 1) / 2 for column in range(width)]
    steep = sum(y * sum(row) for y, row in zip(down, rows, strict=True)) / (
        width * sum(y * y for y in down) or 1
    )
    slant = sum(x * value for row in rows for x, value in zip(across, row, strict=True))
    slant /= height * sum(x * x for x in across) or 1
    return [
        [value > mean + steep * y + slant * x for x, value in zip(across, row, strict=True)]
        for y, row in zip(down, rows, strict=True)
    ]
