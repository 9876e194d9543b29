"""Answers of a what-if side by side: whether the record is repeated, verdicts, and where the texts part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.blocks.model_text import model_text, one_line
from app.figures import outcome

Palette = dict[str, Style]
ABREAST = 100
"""Columns from which answers stand beside each other."""
_STRENGTH = 7


@dataclass(frozen=True)
class Column:
    """An answer: what it was given under, the lines between this and its text."""

    name: str
    about: Sequence[Text]
    text: str


def draw_exact(exact: bool, difference: str, what: str, palette: Palette) -> Text:
    """Whether `what`, such as `answer`, repeats the record."""
    if exact:
        words = f"✓ Without a change, the {what} repeats the record: what differs comes from your choice."
        return Text(words, palette["dim"])
    text = f"≠ Without a change, the {what} is not the record ({one_line(difference)}). Compare the columns "
    return Text(f"{text}with each other, not with the run.", palette["warn"])


def draw_strip(
    label: str, tried: Sequence[tuple[float, bool | None, str]], palette: Palette, width: int
) -> Group:
    """A verdict and the first characters of the answer for each strength, as many in a row as there is room for."""
    room = max(1, (width - 8) // _STRENGTH)
    lines: list[RenderableType] = []
    for first in range(0, len(tried), room):
        strengths, verdicts = Text(f"{label:<7}", palette["dim"]), Text("       ")
        for strength, right, words in tried[first : first + room]:
            sign = f"{outcome(right)}{one_line(words)[: _STRENGTH - 2]}"
            strengths.append(f"{strength:<{_STRENGTH}.3g}", palette["dim"])
            verdicts.append(f"{sign:<{_STRENGTH}}", _verdict_style(right, palette))
        lines += [strengths, verdicts]
    return Group(*lines)


def draw_columns(
    columns: Sequence[Column], palette: Palette, width: int, first: str = "committed"
) -> RenderableType:
    """The answers; the others are held against the first one, which is called the `first` answer. Each is dim as far as
    it is that one's, and marked where it leaves it."""
    against = columns[0].text
    blocks = [
        [
            Text(column.name, palette["heading"]),
            *column.about,
            _text(column.text, against, "" if place == 0 else first, palette),
        ]
        for place, column in enumerate(columns)
    ]
    return abreast(blocks, width)


def abreast(blocks: Sequence[Sequence[RenderableType]], width: int) -> RenderableType:
    """Beside each other where there is room, else one below the other."""
    if width < ABREAST:
        return Group(*(part for block in blocks for part in (*block, Text())))
    grid = Table.grid(padding=(0, 2, 0, 0), expand=True)
    for _ in blocks:
        grid.add_column(ratio=1, overflow="fold")
    grid.add_row(*(Group(*block) for block in blocks))
    return grid


def draw_verdict(right: bool | None, words: str, more: str, palette: Palette) -> Text:
    """✓ or ✗ with the answer or the reason, then what else is known."""
    verdict = Text(f"{outcome(right)} {one_line(words)}", _verdict_style(right, palette))
    return verdict.append(f"  {more}" if more else "", palette["dim"])


def _verdict_style(right: bool | None, palette: Palette) -> Style:
    return palette["dim" if right is None else "good" if right else "bad"]


def _text(text: str, against: str, other: str, palette: Palette) -> Text:
    """`other`: what the answer is called that this one is held against; empty for that one itself."""
    if not other or text == against:
        drawn = (
            model_text(text, palette["dim"], palette["dim"])
            if text.strip()
            else Text("(empty)", palette["dim"])
        )
        return drawn.append(f"\n= the {other} answer" if other else "", palette["dim"])
    same = _shared(text, against)
    drawn, rest = model_text(text[:same], palette["dim"], palette["dim"]), text[same:]
    drawn.append("≠ " if not same or text[same - 1].isspace() else " ≠ ", palette["warn"])
    if not rest.strip():
        return drawn.append("it ends here", palette["warn"])
    return drawn.append(model_text(rest.removeprefix(" "), palette["strong"], palette["dim"]))


def _shared(text: str, other: str) -> int:
    """How many characters both begin with, up to a whole word."""
    same = next(
        (i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other))
    )
    while 0 < same < min(len(text), len(other)) and not text[same - 1].isspace():
        same -= 1
    return same
