"""Answers of a what-if side by side: whether the record is repeated, verdicts, and where the texts part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from app.blocks import terminal
from app.blocks.block import Palette
from app.blocks.model_text import model_text, one_line
from app.methods.what_if import Answer, Answers
from app.wording.figures import outcome

ABREAST = 100
"""Columns from which answers stand beside each other."""
_MOST_ABREAST = 3
"""Answers beside each other, the first one always among them."""
_STRENGTH = 7
_Strengths = tuple[str, Sequence[float]]
"""What several tries differ in, and its value in each of them."""


def draw_exact(tried: Any, palette: Palette) -> list[Text]:
    """Whether the unchanged choice repeats the record, where there is one."""
    if not hasattr(tried, "exact"):
        return []
    if tried.exact:
        words = "✓ Without a change, the result repeats the record: what differs comes from your choice."
        return [Text(words, palette["dim"])]
    text = f"≠ Without a change, the result is not the record ({one_line(tried.difference)}). Compare the columns "
    return [Text(f"{text}with each other, not with the run.", palette["warn"])]


def draw_answers(answers: Answers, strengths: _Strengths, palette: Palette, width: int) -> RenderableType:
    """The strip of several tries, and the answers; the others are held against the first one."""
    parts: list[RenderableType] = []
    if len(answers.tried) > 1:
        parts.append(_strip(answers.tried, strengths, palette, width))
    first, *others = [*answers.beside, *answers.tried[answers.most_telling :][:1]]
    room = _MOST_ABREAST - 1 if width >= ABREAST else max(1, len(others))
    for at in range(0, max(1, len(others)), room):
        parts += [Text(), _abreast([first, *others[at : at + room]], palette, width)]
    return Group(*parts)


def _strip(tried: Sequence[Answer], strengths: _Strengths, palette: Palette, width: int) -> Group:
    """A verdict and the first characters of the answer for each strength, as many in a row as there is room for."""
    label, values = strengths
    room = max(1, (width - 8) // _STRENGTH)
    lines: list[RenderableType] = []
    pairs = list(zip(values, tried, strict=False))
    for first in range(0, len(pairs), room):
        above, verdicts = Text(f"{label:<7}", palette["dim"]), Text("       ")
        for strength, answer in pairs[first : first + room]:
            sign = f"{outcome(answer.right)}{one_line(answer.short)[: _STRENGTH - 2]}"
            tone = "dim" if answer.right is None else "good" if answer.right else "bad"
            above.append(f"{strength:<{_STRENGTH - 1}.4g} ", palette["dim"])
            verdicts.append(f"{sign:<{_STRENGTH}}", palette[tone])
        lines += [above, verdicts]
    return Group(*lines)


def _abreast(answers: Sequence[Answer], palette: Palette, width: int) -> RenderableType:
    """Beside each other where there is room, else one below the other."""
    if width < ABREAST:
        return Group(
            *(part for one in answers for part in (*_parts(one, answers[0], palette, width), Text()))
        )
    grid = Table.grid(padding=(0, 2, 0, 0), expand=True)
    for _ in answers:
        grid.add_column(ratio=1, overflow="fold")
    room = width // len(answers) - 2
    grid.add_row(*(Group(*_parts(one, answers[0], palette, room)) for one in answers))
    return grid


def _parts(answer: Answer, first: Answer, palette: Palette, width: int) -> list[RenderableType]:
    name = Text(answer.name, palette["heading"])
    about = terminal.draw(answer.about, palette, width)
    return [name, about] if answer.text is None else [name, about, _text(answer.text, answer, first, palette)]


def _text(text: str, answer: Answer, first: Answer, palette: Palette) -> Text:
    """Dim as far as it is the first answer's, marked where it leaves it."""
    against = first.text or ""
    dim = palette["dim"]
    if answer is first or text == against:
        drawn = model_text(text, dim, dim) if text.strip() else Text("(empty)", dim)
        return drawn.append("" if answer is first else f"\n= the {first.name.partition(':')[0]} answer", dim)
    same = _shared(text, against)
    drawn, rest = model_text(text[:same], dim, dim), text[same:]
    drawn.append("≠ " if not same or text[same - 1].isspace() else " ≠ ", palette["warn"])
    if not rest.strip():
        return drawn.append("it ends here", palette["warn"])
    return drawn.append(model_text(rest.removeprefix(" "), palette["strong"], dim))


def _shared(text: str, other: str) -> int:
    """How many characters both begin with, up to a whole word."""
    same = next(
        (i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other))
    )
    while 0 < same < min(len(text), len(other)) and not text[same - 1].isspace():
        same -= 1
    return same
