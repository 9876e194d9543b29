"""A document as blocks of plain text: what it says, apart from how it is written. Every writer escapes all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from difflib import SequenceMatcher
from typing import Any

from app.blocks.drawing import Drawing

_LONGEST = 20_000
"""Characters of a text that are shown."""


@dataclass(frozen=True)
class Heading:
    """`level` 2 to 4; the document's title is the only one of level 1."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """A sentence or more, on one line. `tone`: "" or `dim`."""

    text: str
    tone: str = ""


@dataclass(frozen=True)
class Bullets:
    """A list."""

    items: Sequence[str]


@dataclass(frozen=True)
class Facts:
    """Names with their values."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Table:
    """The last `figures` columns are numbers, aligned on the right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    figures: int = 0
    caption: str = ""


@dataclass(frozen=True)
class Writing:
    """A text of a model, a person or a file, with its line breaks."""

    text: str


@dataclass(frozen=True)
class Changes:
    """How one text became another: pieces with `+` (only the new one has it), `-` (only the old one) or a space."""

    pieces: Sequence[tuple[str, str]]

    def lines(self) -> list[tuple[str, str]]:
        """The same by whole lines, for what cannot mark a word."""
        old, new = (
            "".join(text for sign, text in self.pieces if sign in kinds).splitlines()
            for kinds in (" -", " +")
        )
        found: list[tuple[str, str]] = []
        for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            found += [(" " if kind == "equal" else "-", line) for line in old[a:b]]
            found += [("+", line) for line in new[c:d] if kind != "equal"]
        return [(sign, line) for sign, line in found if line.strip()]


@dataclass(frozen=True)
class Command:
    """What to type into a terminal."""

    text: str


@dataclass(frozen=True)
class Remark:
    """What a person wrote down."""

    author: str
    when: str
    text: str


@dataclass(frozen=True)
class Picture:
    """A drawing; `caption` says what it shows."""

    drawing: Drawing
    caption: str


Block = Heading | Paragraph | Bullets | Facts | Table | Writing | Changes | Command | Remark | Picture


@dataclass(frozen=True)
class Document:
    """A title and what stands under it."""

    title: str
    blocks: Sequence[Block]


def with_texts(part: Any, change: Callable[[str], str]) -> Any:
    """A document, block or part of one with every text in it changed."""
    if isinstance(part, str):
        return change(part)
    if isinstance(part, list | tuple):
        return tuple(with_texts(item, change) for item in part)
    if is_dataclass(part) and not isinstance(part, type):
        return replace(
            part, **{field.name: with_texts(getattr(part, field.name), change) for field in fields(part)}
        )
    return part


def cut(text: str, longest: int = _LONGEST) -> str:
    """`text`, or its beginning with the number of characters that were left out."""
    left_out = len(text) - longest
    return text if left_out <= 0 else f"{text[:longest]} … {left_out:,} more characters"


def writing(text: str) -> Writing:
    """A text with its line breaks, not longer than a page can bear."""
    return Writing(cut(text))


def facts(rows: Iterable[tuple[str, str | None]]) -> Facts:
    """Those that have a value."""
    return Facts([(name, value) for name, value in rows if value])
