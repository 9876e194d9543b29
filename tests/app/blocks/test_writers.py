"""Every block in HTML, in Markdown and as batch prints it: by hand."""

from __future__ import annotations

import io
from math import inf, nan

import pytest
from rich.console import Console

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
    Target,
    Writing,
    cut,
    in_one_column,
    spans,
    with_texts,
)
from app.blocks.changes import changed_lines, changed_pieces
from app.blocks.drawing import Drawing
from app.blocks.html import to_html
from app.blocks.markdown import to_markdown
from app.blocks.printed import print_blocks
from app.curves import thin, ticks

TABLE = Table(("name", "n"), [(Span("a<b", "good"), "1")], 1, "A caption", ["a note"], ["", "how many"])
PICTURE = Picture(Drawing(4, 2, []), "A *plot*")
BOTH: list[tuple[Block, str, str]] = [
    (Heading(("One ", Span("two", "bad")), 2), '<h2 id="s1">One <span class="bad">two</span></h2>', "## One two"),
    (Heading("x", 3), "<h3>x</h3>", "### x"), (Heading("x", 4), "<h4>x</h4>", "#### x"),
    (Paragraph('a & "b"'), "<p>a &amp; &quot;b&quot;</p>", 'a \\& "b"'),
    (Paragraph("+ a", "dim"), '<p class="dim">+ a</p>', "\\+ a"),
    (Bullets(["one", ("1. ", Span("two", "dim"))]),
     '<ul><li>one</li><li>1. <span class="dim">two</span></li></ul>', "- one\n- 1\\. two"),
    (Facts([("a<", "1"), ("b", Span("2", "good"))]),
     '<dl><dt>a&lt;</dt><dd>1</dd><dt>b</dt><dd><span class="good">2</span></dd></dl>', "- a\\<: 1\n- b: 2"),
    (TABLE,
     '<div class="wide"><table><caption>A caption</caption><thead><tr><th>name</th><th class="f">n</th></tr></thead>'
     '<tbody><tr><td><span class="good">a&lt;b</span></td><td class="f">1</td></tr></tbody></table></div>'
     '<p class="dim">a note</p><p class="dim">n: how many</p>',
     "A caption\n\n| name | n |\n| --- | ---: |\n| a\\<b | 1 |\n\na note\n\nn: how many"),
    (Table(("x",), [("y",)]), '<div class="wide"><table><thead><tr><th>x</th></tr></thead><tbody><tr><td>y</td></tr>'
     "</tbody></table></div>", "| x |\n| --- |\n| y |"),
    (Writing("a\n<b>"), "<pre>a\n&lt;b&gt;</pre>", "```\na\n<b>\n```"), (Writing("ls `x`"), "<pre>ls `x`</pre>",
     "```\nls `x`\n```"),
    (Changes("same", "same"), "<pre>same</pre>", "```\nsame\n```"),
    (Changes("a c", "a b", ("new", "old")),
     '<p class="dim">− old, + new</p><pre>a <del>b</del><ins>c</ins></pre>',
     "− old, + new\n\n```diff\n- a b\n+ a c\n```"),
    (Remark("Ann <a>", "today", "one\n- two"),
     '<blockquote><p>one<br>- two</p><p class="dim">Ann &lt;a&gt;, today</p></blockquote>',
     "> one\n> \\- two\n>\n> Ann \\<a\\>, today"),
    (PICTURE, '<figure><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 2" role="img" aria-label="A *plot*">'
     "</svg><figcaption>A *plot*</figcaption></figure>",
     "(A \\*plot\\*: the picture is in the HTML form of this document.)"),
]  # fmt: skip


@pytest.mark.parametrize(("block", "page", "markdown"), BOTH)
def test_a_block_in_both_forms(block: Block, page: str, markdown: str) -> None:
    document = Document("T & t", [block])
    written = to_html(document)
    assert written.startswith('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n')
    body = written.partition("</head><body><main>")[2]
    assert body == f"<h1>T &amp; t</h1>\n{page}\n</main></body></html>\n"
    assert "<title>T &amp; t</title>" in written
    assert to_markdown(document) == f"# T \\& t\n\n{markdown}\n"


def test_pictures_of_markdown_are_named() -> None:
    assert (
        to_markdown(Document("t", [PICTURE]), lambda picture: "a-1.svg")
        == "# t\n\n![A \\*plot\\*](a-1.svg)\n"
    )


def test_three_sections_have_contents_with_their_numbers() -> None:
    two = [Heading("a", 2), Heading("x", 3), Heading("b", 2)]
    assert "<nav" not in to_html(Document("t", two))
    page = to_html(Document("t", [*two, Heading("c & d", 2)]))
    assert (
        '<nav aria-label="Contents"><ul><li><a href="#s1">a</a></li><li><a href="#s2">b</a></li>'
        '<li><a href="#s3">c &amp; d</a></li></ul></nav>\n<h2 id="s1">a</h2>\n<h3>x</h3>\n<h2 id="s2">b</h2>\n'
        '<h2 id="s3">c &amp; d</h2>'
    ) in page


def printed(blocks: list[Block], width: int, folded: list[str]) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    print_blocks(blocks, console, folded)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_batch_prints_tables_sentences_and_lists_and_nothing_else() -> None:
    blocks: list[Block] = [
        Paragraph("a long sentence"),
        Heading("no"),
        Bullets(["one", "two that is long"]),
        Writing("no"),
    ]
    lines = ["a long sentence", "- one", "- two that is long"]
    assert printed(blocks, 80, []) == printed(blocks, 8, []) == lines, (
        "the terminal breaks lines, not the program"
    )
    assert printed([TABLE], 80, []) == ["A caption", "", "  name   n", " ──────────", "  a<b    1", "", "a note",
                                        "n: how many"]  # fmt: skip


def test_columns_that_fold_go_on_in_the_next_line() -> None:
    table = Table(("long", "short"), [("x" * 50, "1")], 1)
    assert printed([table], 46, ["long"])[3:5] == [f"  {'x' * 34}       1", f"  {'x' * 16}"]
    words = Table(("words", "n"), [("one two three " * 20, "1")], 1)
    lines = printed([words], 46, ["long"])[3:]
    assert lines[0].startswith("  one two") and "…" in lines[0] and lines[0].endswith("  1")
    assert not any(lines[1:]), "other words are cut and stand in one line"


def test_a_text_is_cut_where_it_is_too_long_for_a_page() -> None:
    assert cut("abcdef", 6) == "abcdef" and cut("x" * 1234 + "abcdef", 6) == "xxxxxx … 1,234 more characters"


def test_all_texts_of_a_block_are_changed_and_nothing_else() -> None:
    facts = Facts([("a", Span("b", "good", Target("entry", "e"))), ("c", "d")])
    assert with_texts(facts, str.upper) == Facts((("A", Span("B", "good", Target("entry", "e"))), ("C", "D")))
    assert with_texts(Heading("x", 3), str.upper) == Heading("X", 3)
    assert spans(("a", Span("b", "dim"))) == [Span("a"), Span("b", "dim")] and spans(Span("c")) == [Span("c")]
    assert in_one_column([Heading("x")]) == [Heading("x")]


@pytest.mark.parametrize(
    ("new", "old", "pieces"),
    [
        ("a c", "a b", [(" ", "a "), ("-", "b"), ("+", "c")]), ("a", "a", [(" ", "a")]),
        ("a, b", "a b", [(" ", "a"), ("+", ","), (" ", " b")]), ("", "x", [("-", "x")]), ("x", "", [("+", "x")]),
    ],
)  # fmt: skip
def test_pieces_that_changed(new: str, old: str, pieces: list[tuple[str, str]]) -> None:
    assert changed_pieces(new, old) == pieces


def test_up_to_three_thousand_words_are_compared() -> None:
    """Words and the spaces between them: 1,500 of each; also words that are half of a text are found again."""
    words = "a " * 1500
    assert changed_pieces(words, words[:-1]) == [(" ", words[:-1]), ("+", " ")]
    assert changed_pieces(f"{words}b", words) == [("-", words), ("+", f"{words}b")]
    assert changed_pieces(words, f"{words}b") == [("-", f"{words}b"), ("+", words)]
    assert changed_pieces("y" + " a" * 300, "x" + " a" * 300) == [("-", "x"), ("+", "y"), (" ", " a" * 300)]
    assert changed_lines("a\n" * 300 + "b", "c\n" + "a\n" * 300)[:2] == [("-", "c"), (" ", "a")]


def test_lines_that_changed_stand_below_each_other_without_the_empty_ones() -> None:
    assert changed_lines("a\n\n \nc d\n", "a\n \nb d\n") == [
        (" ", "a"),
        ("-", "b d"),
        ("+", "c d"),
    ]


# ---------------------------------------------------------------- axes and points


@pytest.mark.parametrize(
    ("values", "most", "at"),
    [
        ([0.0, 1.0], 5, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]), ([0.0, 10.0], 5, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]),
        ([0.13, 0.48], 4, [0.1, 0.2, 0.3, 0.4, 0.5]), ([3.0, 3.0], 3, [3.0]), ([0.0, 0.0], 2, [0.0]),
        ([-1.0, 3.0], 2, [-2.0, 0.0, 2.0, 4.0]),
    ],
)  # fmt: skip
def test_round_numbers_enclose_the_values(values: list[float], most: int, at: list[float]) -> None:
    assert ticks(values, most) == at


def test_of_many_points_the_outline_stays() -> None:
    """Ten points in two stretches: the lowest and highest of each, in their order."""
    y = [5.0, 1.0, 9.0, 4.0, 4.0, 2.0, 8.0, 2.0, 7.0, 3.0]
    assert thin(range(10), y, 4) == ([1, 2, 5, 6], [1.0, 9.0, 2.0, 8.0])
    assert thin(range(3), [1.0, float("nan"), 2.0], 9) == ([0, 2], [1.0, 2.0])
    assert thin(range(4), y[:4], 4) == ([0, 1, 2, 3], y[:4])


def test_points_that_are_no_numbers_are_left_out_of_many() -> None:
    """They are no lowest or highest of a stretch: seven of ten are left, in stretches of three and four."""
    y = [0.0, nan, 2.0, 1.0, inf, 5.0, 4.0, nan, 3.0, 9.0]
    assert thin(range(10), y, 4) == ([0, 2, 8, 9], [0.0, 2.0, 3.0, 9.0])


def test_of_a_text_that_no_page_can_bear_the_beginning_is_compared() -> None:
    pieces = changed_pieces("x" * 20_001, "y")
    assert "".join(text for sign, text in pieces if sign != "-") == "x" * 20_000 + " … 1 more characters"
