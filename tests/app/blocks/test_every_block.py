"""Every kind of block in every form: on a narrow and a wide terminal with tones, printed by batch, as Markdown, as a
page. After a change that is meant: `pytest tests/app/blocks/test_every_block.py --snapshot-update`, and
read the difference."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from app.blocks.block import (
    Beside,
    Block,
    Bullets,
    Changes,
    Document,
    Facts,
    Heading,
    OnScreen,
    Paragraph,
    Picture,
    Remark,
    Span,
    Table,
    Target,
    Writing,
)
from app.blocks.html import to_html
from app.blocks.markdown import to_markdown
from app.blocks.plots import curve_plot, interval_plot
from app.blocks.printed import print_blocks
from app.curves import Series
from tests.page_text import TextFile
from tests.screens.test_what_methods_show import block_lines

PLOT = interval_plot(
    [("a name of more than thirty letters", 0.5, 0.25, 1.0), ("alone", -2.0, None, None)], 2, True
)
CURVES = curve_plot(
    [Series("falls", [0, 1, 2], [3.0, 1.0, 2.0]), Series("point", [0], [9.0]),
     *(Series(f"the longest name of line {n}", [0, 2], [n, n + 0.5]) for n in range(5))],
    "steps",
)  # fmt: skip
BLOCKS: list[Block] = [
    Heading("First & <second>"),
    Paragraph(["a ", Span("good", "good"), " *word* ", Span("leads", "accent", Target("entry", "e 1"))]),
    Paragraph("1. no list\tand a tab", "warn"), Paragraph("- no rule"),
    Heading("Below", 3), Facts([("name", "value"), ("long name", Span("bad", "bad"))]),
    Bullets(["one", Span("+ two", "strong")]),
    Table(("a", "b", "c"), [("x" * 30, "two\nlines", "1"), (Span("y", "dim"), "z|", "22")], 1, "Caption", ["a note"],
          ("", "about b", ""), (0, 1, 0)),
    Heading("Third", 4), Table(("wide words", "1,234.5"), [("w", "1")], 1),
    Writing("a text\n  with `ticks`\n\n\x1b[2Jof a model", "dim"), Writing("$ a command", "accent"),
    Heading("Fourth"), Changes("the same", "the same"),
    Changes("one two\nthree\n\nfive", "one 2\nthree\nfour", ("mine", "theirs"), (8, 13)),
    Beside([Heading("left", 4), Paragraph("l")], [Heading("right", 4), Paragraph("r")], 84),
    OnScreen([Paragraph("on the screen")], [Paragraph("in documents")]),
    Remark("Ada\x07", "today", "first\nsecond"), Heading("Fifth"),
    *(Picture(plot, caption) for plot, caption in ((PLOT, "a plot"), (CURVES, "curves")) if plot is not None),
]  # fmt: skip


def form(name: str) -> Iterator[str]:
    document = Document("A title & more", BLOCKS)
    if name == "terminal":
        for width in (30, 60, 130):
            yield f"=== {width} columns"
            yield from block_lines(BLOCKS, width, tones=True)
    elif name == "printed":
        for width, folded in ((30, []), (60, ["a"]), (130, [])):
            console = Console(file=io.StringIO(), width=width)
            print_blocks(BLOCKS, console, folded)
            yield f"=== {width} columns, {folded} folded"
            yield from (line.rstrip() for line in console.file.getvalue().splitlines())  # type: ignore[attr-defined]
    elif name == "markdown":
        yield to_markdown(document)
        yield to_markdown(document, lambda picture: f"{picture.caption}.svg")
    else:
        yield to_html(document)


@pytest.mark.parametrize("name", ["terminal", "printed", "markdown", "page"])
def test_every_block_in_every_form(name: str, snapshot: SnapshotAssertion) -> None:
    assert "\n".join(form(name)) + "\n" == snapshot(extension_class=TextFile)
