"""Every kind of block in a page of HTML, and in Markdown."""

from __future__ import annotations

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
    Span,
    Table,
    Writing,
)
from app.blocks.drawing import Drawing, Label
from app.blocks.html import to_html
from app.blocks.markdown import to_markdown

BLOCKS: list[Block] = [
    Heading("One & two", 2),
    Paragraph("plain"),
    Paragraph(("a ", Span("good", "good"), " end"), "dim"),
    Bullets(["first", ("second ", Span("!", "warn"))]),
    Heading("Deeper", 3),
    Facts([("name", "value"), ("<n>", Span("v", "bad"))]),
    Heading("Tables", 2),
    Table(
        ("name", "n"), [("a", "1"), (Span("b", "strong"), "2")], 1, "Caption", ["a note"], ["", "how many"]
    ),
    Writing("x < y\nz"),
    Writing("steer-tui x", "accent"),
    Changes("same", "same"),
    Changes("one three", "one two", ("ours", "theirs")),
    Heading("Remarks", 2),
    Remark("Ann", "today", "well\ndone"),
    Picture(Drawing(100, 20, [Label(1, 2, "here")]), "a picture"),
]


def test_a_page() -> None:
    page = to_html(Document("Title <1>", BLOCKS)).splitlines()
    assert page[0] == "<!doctype html>" and page[1].startswith('<html lang="en"><head><meta charset="utf-8">')
    assert "<title>Title &lt;1&gt;</title>" in page
    at = page.index("</head><body><main><h1>Title &lt;1&gt;</h1>")
    body = [line for line in page[at + 1 :] if not line.startswith("<figure>")]
    links = "".join(
        f'<li><a href="#s{i}">{name}</a></li>'
        for i, name in ((1, "One &amp; two"), (2, "Tables"), (3, "Remarks"))
    )
    assert body == [
        f'<nav aria-label="Contents"><ul>{links}</ul></nav>',
        '<h2 id="s1">One &amp; two</h2>',
        "<p>plain</p>",
        '<p class="dim">a <span class="good">good</span> end</p>',
        '<ul><li>first</li><li>second <span class="warn">!</span></li></ul>',
        "<h3>Deeper</h3>",
        '<dl><dt>name</dt><dd>value</dd><dt>&lt;n&gt;</dt><dd><span class="bad">v</span></dd></dl>',
        '<h2 id="s2">Tables</h2>',
        '<div class="wide"><table><caption>Caption</caption><thead><tr><th>name</th><th class="f">n</th></tr></thead>'
        '<tbody><tr><td>a</td><td class="f">1</td></tr><tr><td><span class="strong">b</span></td><td class="f">2</td>'
        '</tr></tbody></table></div><p class="dim">a note</p><p class="dim">n: how many</p>',
        "<pre>x &lt; y", "z</pre>",
        "<pre>steer-tui x</pre>",
        "<pre>same</pre>",
        '<p class="dim">− theirs, + ours</p><pre>one <del>two</del><ins>three</ins></pre>',
        '<h2 id="s3">Remarks</h2>',
        '<blockquote><p>well<br>done</p><p class="dim">Ann, today</p></blockquote>',
        "</main></body></html>",
    ]  # fmt: skip
    [figure] = [line for line in page if line.startswith("<figure>")]
    assert figure.endswith("<figcaption>a picture</figcaption></figure>") and ">here<" in figure


def test_a_short_page_has_no_contents() -> None:
    assert "<nav" not in to_html(Document("t", BLOCKS[:10]))


def test_markdown() -> None:
    text = to_markdown(Document("Title <1>", BLOCKS), lambda picture: "p.svg")
    assert text.splitlines() == [
        "# Title \\<1\\>", "",
        "## One \\& two", "",
        "plain", "",
        "a good end", "",
        "- first", "- second \\!", "",
        "### Deeper", "",
        "- name: value", "- \\<n\\>: v", "",
        "## Tables", "",
        "Caption", "", "| name | n |", "| --- | ---: |", "| a | 1 |", "| b | 2 |", "", "a note", "", "n: how many", "",
        "```", "x < y", "z", "```", "",
        "```", "steer-tui x", "```", "",
        "```", "same", "```", "",
        "− theirs, + ours", "", "```diff", "- one two", "+ one three", "```", "",
        "## Remarks", "",
        "> well", "> done", ">", "> Ann, today", "",
        "![a picture](p.svg)",
    ]  # fmt: skip
    assert to_markdown(Document("t", BLOCKS[-1:])).splitlines()[-1] == (
        "(a picture: the picture is in the HTML form of this document.)"
    )


def test_fences_are_longer_than_those_of_the_text() -> None:
    assert to_markdown(Document("t", [Writing("a ```` b")])).splitlines()[2:] == [
        "`````",
        "a ```` b",
        "`````",
    ]


def test_texts_of_very_many_words_are_not_compared() -> None:
    """1,501 words with blanks between them are 3,001 pieces."""
    for words, compared in ((1500, True), (1501, False)):
        old = "a " * (words - 1) + "b"
        page = to_html(Document("t", [Changes("a " * (words - 1) + "c", old)]))
        assert f"<del>{'b' if compared else old}</del><ins>" in page
