"""A document as one HTML file: readable offline, on a phone, in print, by day and by night. It loads nothing."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

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
    spans,
)
from app.blocks.changes import changed_pieces
from app.blocks.drawing import PLAIN_STYLE, styles, svg

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""Whatever got into the page, a browser neither runs nor loads it."""
_STYLE = "\n".join(
    (
        Path(__file__).with_name("page.css").read_text(),
        PLAIN_STYLE,
        styles(dark=False),
        f"@media screen and (prefers-color-scheme:dark){{{styles(dark=True)}}}",
    )
)


def to_html(document: Document) -> str:
    """The whole file."""
    title, blocks = _text(document.title), in_one_column(document.blocks)
    page = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        f"</head><body><main><h1>{title}</h1>",
        _contents(blocks),
    ]
    number = 0
    for block in blocks:
        number += isinstance(block, Heading) and block.level == 2
        page.append(_block(block, number))
    return "\n".join([*filter(None, page), "</main></body></html>", ""])


def _contents(blocks: Sequence[Block]) -> str:
    headings = [plain(block.text) for block in blocks if isinstance(block, Heading) and block.level == 2]
    if len(headings) < 3:
        return ""
    links = "".join(f'<li><a href="#s{i}">{_text(name)}</a></li>' for i, name in enumerate(headings, 1))
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def _block(block: Block, section: int) -> str:
    match block:
        case Heading(text, 2):
            return f'<h2 id="s{section}">{_words(text)}</h2>'
        case Heading(text, level):
            return f"<h{level}>{_words(text)}</h{level}>"
        case Paragraph(text, tone):
            return f'<p class="{tone}">{_words(text)}</p>' if tone else f"<p>{_words(text)}</p>"
        case Bullets(items):
            return f"<ul>{''.join(f'<li>{_words(item)}</li>' for item in items)}</ul>"
        case Facts(rows):
            return f"<dl>{''.join(f'<dt>{_text(name)}</dt><dd>{_words(value)}</dd>' for name, value in rows)}</dl>"
        case Table():
            return _table(block)
        case Writing(text):
            return f"<pre>{_text(text)}</pre>"
        case Changes(new, old) if new == old:
            return f"<pre>{_text(new)}</pre>"
        case Changes(new, old, names):
            pieces = "".join(_piece(sign, text) for sign, text in changed_pieces(new, old))
            return f'<p class="dim">− {_text(names[1])}, + {_text(names[0])}</p><pre>{pieces}</pre>'
        case Remark(author, when, text):
            about = f'<p class="dim">{_text(author)}, {_text(when)}</p>'
            lines = "<br>".join(map(_text, text.splitlines()))
            return f"<blockquote><p>{lines}</p>{about}</blockquote>"
        case Picture(drawing, caption):
            return f"<figure>{svg(drawing, caption)}<figcaption>{_text(caption)}</figcaption></figure>"
        case _:
            raise TypeError(f"{block!r} is not a block of a document")


def _table(table: Table) -> str:
    words = len(table.header) - table.figures

    def row(cells: Sequence[Words], tag: str) -> str:
        return "".join(
            f'<{tag} class="f">{_words(cell)}</{tag}>' if place >= words else f"<{tag}>{_words(cell)}</{tag}>"
            for place, cell in enumerate(cells)
        )

    caption = f"<caption>{_text(table.caption)}</caption>" if table.caption else ""
    body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in table.rows)
    head = f"<thead><tr>{row(table.header, 'th')}</tr></thead>"
    notes = "".join(f'<p class="dim">{_text(note)}</p>' for note in table.legend)
    return f'<div class="wide"><table>{caption}{head}<tbody>{body}</tbody></table></div>{notes}'


def _piece(sign: str, text: str) -> str:
    tag = {"+": "ins", "-": "del"}.get(sign)
    return f"<{tag}>{_text(text)}</{tag}>" if tag else _text(text)


def _words(words: Words) -> str:
    return "".join(
        f'<span class="{span.tone}">{_text(span.text)}</span>' if span.tone else _text(span.text)
        for span in spans(words)
    )


def _text(text: str) -> str:
    return html.escape(text, quote=True)
