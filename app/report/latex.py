"""A document as LaTeX (pdflatex; article, booktabs, graphicx, tikz). What pdflatex has no letter for is spelled out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from app.report.document import (
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
    Writing,
)
from app.report.drawing import COLOURS, tikz

_ROWS = 40
"""Of a table on a page."""
_WIDEST = 50
"""Characters of a column that is not broken into lines."""
_SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}", "-": "-{}",
    "\t": " ", "−": "$-$", "–": "--", "—": "---", "…": r"\dots{}", "·": r"$\cdot$", "×": r"$\times$", "÷": r"$\div$",
    "±": r"$\pm$", "≈": r"$\approx$", "≤": r"$\leq$", "≥": r"$\geq$", "≠": r"$\neq$", "→": r"$\to$", "←": r"$\gets$",
    "▲": r"$\triangle$", "▼": r"$\nabla$", "✓": r"$\surd$", "✗": r"$\times$", "★": r"$\star$", "α": r"$\alpha$",
    "β": r"$\beta$", "ρ": r"$\rho$", "κ": r"$\kappa$", "Δ": r"$\Delta$", "τ": r"$\tau$", "’": "'", "‘": "`",
    "“": "``", "”": "''", "\u00a0": "~",
}  # fmt: skip


def to_latex(document: Document) -> str:
    """The whole file."""
    colours = [rf"\definecolor{{{name}}}{{HTML}}{{{pair[0][1:].upper()}}}" for name, pair in COLOURS.items()]
    lines = [
        r"\documentclass[a4paper,10pt]{article}",
        r"\usepackage[utf8]{inputenc}",
        r"\usepackage[T1]{fontenc}",
        r"\usepackage{textcomp}",
        r"\usepackage[margin=2.2cm]{geometry}",
        r"\usepackage{booktabs}",
        r"\usepackage{graphicx}",
        r"\usepackage{tikz}",
        *colours,
        r"\setlength{\parindent}{0pt}\setlength{\parskip}{4pt}\sloppy",
        rf"\title{{{escaped(document.title)}}}\date{{}}\author{{}}",
        r"\begin{document}",
        r"\maketitle",
    ]
    for block in document.blocks:
        lines += ["", *_block(block)]
    return "\n".join([*lines, r"\end{document}", ""])


def escaped(text: str) -> str:
    """A text on one line in which nothing is a command."""
    return "".join(map(_sign, " ".join(text.split())))


def _sign(sign: str) -> str:
    if (known := _SIGNS.get(sign)) is not None:
        return known
    if " " <= sign <= "~" or "À" <= sign <= "ÿ":
        return sign
    return f"[U+{ord(sign):04X}]"


def _block(block: Block) -> Iterator[str]:
    match block:
        case Heading(text, level):
            yield rf"\{'sub' * min(2, level - 2)}section*{{{escaped(text)}}}"
        case Paragraph(text):
            yield escaped(text)
        case Bullets(items):
            yield from _list(escaped(item) for item in items)
        case Facts(rows):
            yield from _list(f"{escaped(name)}: {escaped(value)}" for name, value in rows)
        case Table():
            for first in range(0, len(table_rows := list(block.rows)), _ROWS):
                yield from _table(block, table_rows[first : first + _ROWS], "" if first else block.caption)
        case Writing(text) | Command(text):
            yield from _typed(("", line) for line in text.splitlines())
        case Changes():
            yield from _typed(block.lines())
        case Remark(author, when, text):
            yield r"\begin{quote}"
            yield from (rf"{{}}{escaped(line)}\par" for line in text.splitlines())
            yield rf"\textit{{{escaped(author)}, {escaped(when)}}}"
            yield r"\end{quote}"
        case Picture(drawing, caption):
            yield from _fitted(tikz(drawing, escaped))
            yield rf"{{\small {escaped(caption)}}}\par"


def _list(items: Iterator[str]) -> Iterator[str]:
    lines = [rf"\item {{}}{item}" for item in items]
    if lines:
        yield r"\begin{itemize}\setlength{\itemsep}{0pt}"
        yield from lines
        yield r"\end{itemize}"


def _table(table: Table, rows: Sequence[Sequence[str]], caption: str) -> Iterator[str]:
    words = len(table.header) - table.figures
    # {} in front: a row that begins with [ or * would be read as an argument of the end of the row before
    body = [rf"{{}}{' & '.join(map(escaped, row))} \\" for row in rows]
    if caption:
        yield rf"\textbf{{{escaped(caption)}}}\par"
    yield from _fitted(
        "\n".join(
            [
                rf"\begin{{tabular}}{{@{{}}{_columns(table, words)}{'r' * table.figures}@{{}}}}",
                r"\toprule",
                rf"{{}}{' & '.join(map(escaped, table.header))} \\",
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
            ]
        )
    )


def _columns(table: Table, words: int) -> str:
    """A column of long texts is broken into lines."""
    longest = [max(len(row[at]) for row in (table.header, *table.rows)) for at in range(words)]
    return "".join("l" if length <= _WIDEST else r"p{7cm}" for length in longest)


def _fitted(content: str) -> Iterator[str]:
    """Made smaller where it is wider than the line."""
    yield r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
    yield content
    yield r"}\par"


def _typed(lines: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Lines in a typewriter's letters, each with its sign in front."""
    yield r"\begin{quote}\ttfamily\small"
    for sign, line in lines:
        indent = "~" * min(40, len(line) - len(line.lstrip(" ")))
        front = {"+": "+~", "-": "-{}~"}.get(sign, "")
        yield rf"{{}}{front}{indent}{escaped(line)}\par"
    yield r"\end{quote}"
