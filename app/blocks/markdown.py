"""A document as Markdown (CommonMark with tables). Pictures are files beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from app.blocks.block import (
    Block,
    Bullets,
    Changes,
    Document,
    Facts,
    Heading,
    Paragraph,
    Picture,
    Remark,
    Table,
    Words,
    Writing,
    in_one_column,
    plain,
)
from app.blocks.changes import changed_lines

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~&#$!])")
_LINE_START = re.compile(r"^(\d+(?=[.)](?:\s|$))|(?=[-+=]))")
_LINE_END = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")


def to_markdown(document: Document, picture_file: Callable[[Picture], str] | None = None) -> str:
    """The whole file. `picture_file` names the file of a picture; without it a picture is only mentioned."""
    parts = [f"# {escaped(document.title)}"]
    parts += [_block(block, picture_file) for block in in_one_column(document.blocks)]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """A text on one line in which nothing means anything to Markdown, wherever in a line it stands."""
    return _SPECIAL.sub(r"\\\1", _LINE_END.sub(" ", text).strip())


def _line(text: str) -> str:
    """The same where a line begins: no list, no rule."""
    return _LINE_START.sub(r"\1\\", escaped(text))


def _block(block: Block, picture_file: Callable[[Picture], str] | None) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {escaped(plain(text))}"
        case Paragraph(text):
            return _line(plain(text))
        case Bullets(items):
            return "\n".join(f"- {_line(plain(item))}" for item in items)
        case Facts(rows):
            return "\n".join(f"- {_line(name)}: {escaped(plain(value))}" for name, value in rows)
        case Table():
            return _table(block)
        case Writing(text):
            return _fenced(text)
        case Changes(new, old) if new == old:
            return _fenced(new)
        case Changes(new, old, names):
            lines = changed_lines(new, old)
            text = _fenced("\n".join(f"{sign} {line}" for sign, line in lines), "diff")
            return f"{_line(f'− {names[1]}, + {names[0]}')}\n\n{text}"
        case Remark(author, when, text):
            lines = [*map(_line, text.splitlines()), "", f"{escaped(author)}, {escaped(when)}"]
            return "\n".join(f"> {line}".rstrip() for line in lines)
        case Picture(_, caption):
            if picture_file is None:
                return f"({escaped(caption)}: the picture is in the HTML form of this document.)"
            return f"![{escaped(caption)}]({picture_file(block)})"
        case _:
            raise TypeError(f"{block!r} is not a block of a document")


def _table(table: Table) -> str:
    def line(cells: Sequence[Words]) -> str:
        return f"| {' | '.join(escaped(plain(cell)) for cell in cells)} |"

    words = len(table.header) - table.figures
    rule = "|" + "|".join(" --- " if place < words else " ---: " for place in range(len(table.header))) + "|"
    caption = [_line(table.caption), ""] if table.caption else []
    notes = [line for note in table.legend for line in ("", _line(note))]
    return "\n".join([*caption, line(table.header), rule, *map(line, table.rows), *notes])


def _fenced(text: str, language: str = "") -> str:
    """A fence longer than any in the text."""
    ticks = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, ticks + 1)
    return f"{fence}{language}\n{text}\n{fence}"
