"""What is shown, as blocks: what it says, apart from how it is written. Every writer escapes all texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from textwrap import wrap
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.style import Style

from app.blocks.drawing import Drawing
from app.table.column import ListColumn, T, Tone, cell_of

Palette = Mapping[str, Style]
"""Styles by tone."""
_GAP, _LEAST_WORDS = 2, 20
"""Cells between two columns, and of a column of words below which it is not cut."""
_LONGEST = 20_000
"""Characters of a text that are shown."""


class Target(NamedTuple):
    """What a link leads to: `kind` is a word that the method knows (entry, pair, example, decision), `name` its id."""

    kind: str
    name: str


class Span(NamedTuple):
    """A piece of a line: how it is meant, and where it leads in the console."""

    text: str
    tone: Tone = ""
    target: Target | None = None


Words = str | Span | Sequence[str | Span]
"""A line of text."""


def spans(words: Words) -> list[Span]:
    """The pieces of a line."""
    if isinstance(words, str):
        return [Span(words)]
    return [words] if isinstance(words, Span) else [Span(w) if isinstance(w, str) else w for w in words]


def plain(words: Words) -> str:
    """A line without its tones."""
    return "".join(span.text for span in spans(words))


@dataclass(frozen=True)
class Heading:
    """`level` 2 to 4; the document's title is the only one of level 1."""

    text: Words
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """A sentence or more. `tone`: of all of it."""

    text: Words
    tone: Tone = ""


@dataclass(frozen=True)
class Bullets:
    """A list."""

    items: Sequence[Words]


@dataclass(frozen=True)
class Facts:
    """Names with their values."""

    rows: Sequence[tuple[str, Words]]


@dataclass(frozen=True)
class Table:
    """The last `figures` columns are numbers, aligned on the right. `caption` stands above, `notes` below, with what
    is said `about` each column; `priority`: where there is no room, the columns of the highest one are left out."""

    header: Sequence[str]
    rows: Sequence[Sequence[Words]]
    figures: int = 0
    caption: str = ""
    notes: Sequence[str] = ()
    about: Sequence[str] = ()
    priority: Sequence[int] = ()

    @property
    def legend(self) -> list[str]:
        """The notes, and a line for each column about which something is said."""
        return [
            *self.notes,
            *(f"{head}: {text}" for head, text in zip(self.header, self.about, strict=False) if text),
        ]

    def narrowed(self, width: int, gap: int = _GAP) -> Table:
        """Without the columns for which `width` cells are not enough; figures are never cut, their headings take
        several lines where there is still no room. `gap`: between two columns."""
        least = [self._least_width(at) for at in range(len(self.header))]
        columns = list(range(len(least)))
        while not (fits := sum(least[at] + gap for at in columns) <= width + gap) and self.priority:
            last = max(columns, key=lambda at: (self.priority[at], at))
            if not self.priority[last]:
                break
            columns.remove(last)
        first = len(self.header) - self.figures
        return replace(
            self,
            header=[self.header[at] if fits or at < first else self._narrow_head(at) for at in columns],
            rows=[[row[at] for at in columns] for row in self.rows],
            figures=sum(at >= first for at in columns),
            about=[self.about[at] for at in columns] if self.about else (),
            priority=[self.priority[at] for at in columns] if self.priority else (),
        )

    def _least_width(self, at: int) -> int:
        longest = max(cell_len(plain(line)) for line in (self.header[at], *(row[at] for row in self.rows)))
        return longest if at >= len(self.header) - self.figures else min(longest, _LEAST_WORDS)

    def _narrow_head(self, at: int) -> str:
        longest = max((cell_len(plain(row[at])) for row in self.rows), default=0)
        return "\n".join(wrap(self.header[at], max(1, longest), break_long_words=False))


@dataclass(frozen=True)
class Writing:
    """A text of a model, a person or a file, or what to type into a terminal, with its line breaks."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class Changes:
    """Two texts of the same thing under their names; documents show how `old` became `new`. `marked`: the characters
    of `new` that the case is about."""

    new: str
    old: str
    names: tuple[str, str] = ("+", "−")
    marked: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Beside:
    """Two stories beside each other where there are `least` columns, else one below the other."""

    first: Sequence[Block]
    second: Sequence[Block]
    least: int = 84


@dataclass(frozen=True)
class Remark:
    """What a person wrote down."""

    author: str
    when: str
    text: str


@dataclass(frozen=True)
class Picture:
    """A drawing for documents; `caption` says what it shows."""

    drawing: Drawing
    caption: str


@dataclass(frozen=True)
class OnScreen:
    """What lives from the colours of a terminal; documents have other blocks in its place."""

    blocks: Sequence[Block]
    in_documents: Sequence[Block]


Block = (
    Heading | Paragraph | Bullets | Facts | Table | Writing | Changes | Beside | Remark | Picture | OnScreen
)


@dataclass(frozen=True)
class Document:
    """A title and what stands under it."""

    title: str
    blocks: Sequence[Block]


def in_one_column(blocks: Iterable[Block]) -> list[Block]:
    """The blocks as documents have them: one below the other, nothing that only a terminal draws."""
    flat: list[Block] = []
    for block in blocks:
        match block:
            case Beside(first, second):
                flat += in_one_column([*first, *second])
            case OnScreen(_, in_documents):
                flat += in_one_column(in_documents)
            case _:
                flat.append(block)
    return flat


def with_texts(part: Any, change: Callable[[str], str]) -> Any:
    """A document, block or part of one with every text in it changed."""
    if isinstance(part, str):
        return change(part)
    if isinstance(part, Span):
        return part._replace(text=change(part.text))
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


def writing(text: str, tone: Tone = "") -> Writing:
    """A text with its line breaks, not longer than a page can bear."""
    return Writing(cut(text), tone)


def facts(rows: Iterable[tuple[str, Words | None]]) -> Facts:
    """Those that have a value."""
    return Facts([(name, value) for name, value in rows if value])


def table_of(
    columns: Sequence[ListColumn[T]], rows: Iterable[T], caption: str = "", notes: Sequence[str] = ()
) -> list[Table]:
    """A table of these rows; none without rows. The words of its columns stand below."""
    cells = [[Span(*cell_of(c.show(c.value(row)))) for c in columns] for row in rows]
    if not cells:
        return []
    # The trailing ones that stand on the right.
    figures = next((at for at, c in enumerate(reversed(columns)) if c.justify != "right"), len(columns))
    about, priority = [c.help for c in columns], [c.priority for c in columns]
    return [Table([c.label for c in columns], cells, figures, caption, notes, about, priority)]
