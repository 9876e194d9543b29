"""Text put into cells: cut, justified, wrapped, with what is looked for picked out."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style


def wrapped(text: str, width: int) -> list[str]:
    """Paragraphs, wrapped."""
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        lines += [*([""] if lines else []), *wrap(" ".join(paragraph.split()), max(20, width))]
    return lines


def fit_label(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, max(0, width))


def justified(text: str, width: int, justify: str, style: Style, pad: Style) -> list[Segment]:
    """The text in its tone, the room around it without."""
    room = width - cell_len(text)
    left = room if justify == "right" else room // 2 if justify == "center" else 0
    return [Segment(" " * left, pad), Segment(text, style), Segment(" " * (room - left), pad)]


def highlighted(pieces: Sequence[Segment], words: Sequence[str], style: Style) -> list[Segment]:
    """The pieces with the first word found in each in another style."""
    result: list[Segment] = []
    for piece in pieces:
        low = piece.text.lower()
        matches = [(at, -len(word)) for word in words if word and (at := low.find(word.lower())) >= 0]
        if not matches:
            result.append(piece)
            continue
        start, minus_length = min(matches)
        end = start - minus_length
        style_before = piece.style or Style.null()
        result += [
            Segment(piece.text[:start], style_before),
            Segment(piece.text[start:end], style_before + style),
            Segment(piece.text[end:], style_before),
        ]
    return result
