"""Documents as files. What is secret on this machine and what a terminal or a page might obey is taken out of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from app.blocks.block import Document, Picture, in_one_column, with_texts
from app.blocks.drawing import PLAIN_STYLE, styles, svg
from app.blocks.html import to_html
from app.blocks.markdown import to_markdown
from app.runs.error_output import redactor
from app.wording.text import without_controls
from engine.files import write_atomic

SUFFIXES = {"html": ".html", "md": ".md"}
_BREAKS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_NO_LETTERS = re.compile(r"[\ud800-\udfff\ufffe\uffff]")
_INVISIBLE = re.compile(r"[\u200b-\u200d\u2060\ufeff]")


def safe(document: Document, run: Path) -> Document:
    """The document without control codes, halves of letters, and secrets that the run or the environment names."""
    redact = redactor(run)

    def change(text: str) -> str:
        text = without_controls(_BREAKS.sub("\n", text))
        return redact(_INVISIBLE.sub("", _NO_LETTERS.sub("?", text)))

    return with_texts(Document(document.title, in_one_column(document.blocks)), change)


def text_of(document: Document, kind: str, picture_file: Callable[[Picture], str] | None = None) -> str:
    """A safe document as HTML or Markdown, by a name of `SUFFIXES`."""
    return to_markdown(document, picture_file) if kind == "md" else to_html(document)


def write_document(document: Document, kind: str, path: Path) -> list[Path]:
    """Write a safe document; the files. Pictures of Markdown are SVG files beside it. Raises DiskError."""
    pictures: list[Path] = []

    def picture_file(picture: Picture) -> str:
        name = f"{path.stem}-{len(pictures) + 1}.svg"
        drawn = svg(picture.drawing, picture.caption, PLAIN_STYLE + styles(dark=False))
        write_atomic(path.with_name(name), drawn)
        pictures.append(path.with_name(name))
        return re.sub(
            r"[^\w.-]", lambda sign: "".join(f"%{byte:02X}" for byte in sign.group().encode()), name
        )

    write_atomic(path, text_of(document, kind, picture_file))
    return [path, *pictures]
