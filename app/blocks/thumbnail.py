"""Small greyscale pictures in text: two pixels a character, one above the other."""

from __future__ import annotations

from functools import lru_cache

from rich.style import Style
from rich.text import Text

_SIGNS = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}


@lru_cache(maxsize=1024)
def thumbnail(pixels: str, width: int) -> tuple[Text, ...]:
    """Lines of `width` characters. `pixels`: one hexadecimal digit each, line by line, 0 black.

    Drawn as under even light from black to white: so small, a picture with a shade across it is not recognised.
    Which half of a character is filled says what is brighter than the average, so it also reads without colour.
    """
    grey = [int(pixel, 16) for pixel in pixels]
    rows = [grey[first : first + width] for first in range(0, len(grey), width)]
    if len(rows) % 2:
        rows.append(rows[-1])
    even = _under_even_light(rows)
    values = [value for row in even for value in row]
    low, span = min(values), (max(values) - min(values)) or 1.0
    return tuple(
        Text.assemble(
            *(_character(*pair, low, span) for pair in zip(even[line], even[line + 1], strict=True))
        )
        for line in range(0, len(even), 2)
    )


def _character(above: float, below: float, low: float, span: float) -> tuple[str, Style]:
    sign = _SIGNS[above > 0, below > 0]
    if sign in " █":
        above = below = (above + below) / 2
    front, back = (below, above) if sign == "▄" else (above, below)
    return sign, Style(color=_colour((front - low) / span), bgcolor=_colour((back - low) / span))


def _colour(brightness: float) -> str:
    return "#" + 6 * f"{round(15 * brightness):x}"


def _under_even_light(rows: list[list[int]]) -> list[list[float]]:
    """What the greys are above or below the plane that fits them best."""
    height, width = len(rows), len(rows[0])
    mean = sum(map(sum, rows)) / (height * width)
    down = [line - (height - 1) / 2 for line in range(height)]
    across = [column - (width - 1) / 2 for column in range(width)]
    steep = sum(y * sum(row) for y, row in zip(down, rows, strict=True))
    steep /= width * sum(y * y for y in down) or 1
    slant = sum(x * value for row in rows for x, value in zip(across, row, strict=True))
    slant /= height * sum(x * x for x in across) or 1
    return [
        [value - mean - steep * y - slant * x for x, value in zip(across, row, strict=True)]
        for y, row in zip(down, rows, strict=True)
    ]
