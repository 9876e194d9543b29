"""A document as one HTML file: readable offline, on a phone, in print, by day and by night. It loads nothing."""

from __future__ import annotations

import html
from collections.abc import Sequence

from app.blocks.block import (
    Block,
    Bullets,
    Changes,
    Command,
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
_STYLE = (
    """\
:root{color-scheme:light dark;--text:#1d242c;--dim:#59636e;--ground:#fff;--soft:#f3f5f7;--line:#d5dbe1;--good:#0f6b34;
--bad:#a8200d;--goodground:#dcf3e3;--badground:#fbe1dc}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.2rem;max-width:60rem;font:16px/1.5 system-ui,sans-serif;color:var(--text);
background:var(--ground);overflow-wrap:anywhere}
a{color:inherit}h1{font-size:1.6rem;line-height:1.25}
h2{margin-top:2.4rem;border-bottom:1px solid var(--line);font-size:1.3rem}
h3{margin-top:1.8rem;font-size:1.1rem}h4{margin:1.2rem 0 .3rem;font-size:1rem}
.dim,figcaption,caption{color:var(--dim)}p.dim,figcaption,caption{font-size:.9rem}
.good{color:var(--good)}.bad{color:var(--bad)}.strong,.accent{font-weight:600}.warn{font-style:italic}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.88rem;margin:.6rem 0}
caption{text-align:left;padding-bottom:.2rem}
th,td{padding:.2rem .7rem .2rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);
overflow-wrap:normal}
td.f,th.f{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap;padding-right:.9rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:.6rem 0}dt{color:var(--dim)}dd{margin:0}
pre{white-space:pre-wrap;background:var(--soft);padding:.6rem .8rem;border-radius:4px;font-size:.85rem;
line-height:1.45;margin:.5rem 0}
ins{background:var(--goodground);color:var(--good);text-decoration:underline}
del{background:var(--badground);color:var(--bad)}
blockquote{margin:.6rem 0;padding:.1rem .9rem;border-left:4px solid var(--line)}
figure{margin:1rem 0}svg{max-width:100%;height:auto;display:block}
@media(max-width:34rem){body{padding:.8rem;font-size:15px}dl{grid-template-columns:1fr}dd{margin-bottom:.4rem}}
@media print{body{max-width:none;font-size:10pt}h2,h3,h4{break-after:avoid}figure,tr,blockquote{break-inside:avoid}
.wide{overflow:visible}nav{display:none}}
"""
    + PLAIN_STYLE
    + styles(dark=False)
)
_DARK = """\
@media screen and (prefers-color-scheme:dark){:root{--text:#dde3e9;--dim:#9aa5b1;--ground:#14181d;--soft:#1f252c;
--line:#39424c;--good:#8fdca6;--bad:#f3a394;--goodground:#173522;--badground:#43201a}%s}
"""


def to_html(document: Document) -> str:
    """The whole file."""
    title, blocks = _text(document.title), in_one_column(document.blocks)
    page = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}{_DARK % styles(dark=True)}</style>",
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
        case Writing(text) | Command(text):
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
            raise TypeError(f"{block!r} is no block of a document")


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
