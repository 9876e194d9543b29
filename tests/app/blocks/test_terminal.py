"""Blocks as a terminal shows them: every word at its place, tones as styles, columns that fit."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from rich.console import Console
from rich.style import Style

from app.blocks.bars import bar, plain_bar
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
    Remark,
    Span,
    Table,
    Target,
    Writing,
    facts,
    in_one_column,
    plain,
    table_of,
    writing,
)
from app.blocks.html import to_html
from app.blocks.markdown import to_markdown
from app.blocks.printed import printed
from app.blocks.terminal import META, draw, line
from app.table.column import Cell, ListColumn

PALETTE = {
    "": Style.null(),
    "dim": Style(dim=True),
    "strong": Style(bold=True),
    "good": Style(color="green"),
    "bad": Style(color="red"),
    "accent": Style(color="blue"),
    "warn": Style(color="yellow"),
    "heading": Style(underline=True),
}


def shown(blocks: Sequence[Block], width: int = 60) -> list[str]:
    """The lines of the terminal, without trailing blanks."""
    console = Console(file=io.StringIO(), width=width, record=True)
    console.print(draw(blocks, PALETTE, width))
    return [text.rstrip() for text in console.export_text().splitlines()]


def test_a_line_has_its_tones_and_links() -> None:
    drawn = line(("from ", Span("0.50", "bad"), Span("entry 7", "dim", Target("entry", "7"))), PALETTE)
    assert drawn.plain == "from 0.50entry 7"
    tones = {drawn.plain[span.start : span.end]: span.style for span in drawn.spans}
    assert tones["0.50"] == PALETTE["bad"]
    link = tones["entry 7"]
    assert isinstance(link, Style) and link.underline and link.dim and link.meta == {META: ("entry", "7")}


def test_headings_and_tables_are_set_off_and_facts_stand_in_a_grid() -> None:
    blocks: list[Block] = [
        Heading("First", 3),
        Facts([("a", "1"), ("long", Span("2", "good"))]),
        Heading("Second", 3),
        Table(("x", "y"), [("u", "10"), ("v", "9")], 1),
        Paragraph("end"),
    ]
    assert shown(blocks) == [
        "First", "a     1", "long  2", "", "Second", "x   y", "u  10", "v   9", "", "end",
    ]  # fmt: skip


def test_bullets_commands_writings_and_remarks() -> None:
    blocks: list[Block] = [
        Bullets(["one", ("two ", Span("!", "warn"))]),
        Writing("steer-tui x", "accent"),
        Writing("a\nb"),
        Remark("Ann", "today", "well"),
    ]
    assert shown(blocks) == ["- one", "- two !", "steer-tui x", "a⏎", "b", "well", "Ann, today"]


def test_what_a_terminal_obeys_is_taken_out() -> None:
    assert shown([Paragraph("a\x1b[2Jb\x07c"), Facts([("n\x1b[1m", "v\u202e")])]) == ["abc", "n  v"]


@pytest.mark.parametrize(("width", "same_line"), [(40, True), (39, False)])
def test_two_stories_stand_beside_each_other_where_there_is_room(width: int, same_line: bool) -> None:
    lines = shown([Beside([Paragraph("left")], [Paragraph("right")], least=40)], width)
    assert any("left" in text and "right" in text for text in lines) == same_line
    if same_line:  # half of 38, then the gap of two
        assert lines[0].index("right") == 21


def test_equal_texts_are_shown_once_others_with_their_signs() -> None:
    assert shown([Changes("same", "same", ("ours", "theirs"))]) == ["ours", "same"]
    lines = shown([Changes("a\nb", "a\nc", ("ours", "theirs"))], 60)
    assert lines[0] == "   + ours   − theirs"
    assert [text.split() for text in lines[1:]] == [["a"], ["−", "c"], ["+", "b"]]


def test_columns_are_left_out_by_priority_and_figures_are_never_cut() -> None:
    table = Table(
        ("method", "n", "value", "interval"),
        [("greedy", "200", "0.635", "[0.567, 0.699]")],
        3,
        about=["", "items", "share right", "Wilson"],
        priority=[0, 3, 0, 1],
    )
    # 6 + 3 + 5 + 14 figures and words, 2 between each
    assert [len(table.narrowed(width).header) for width in (34, 33, 29, 28, 13, 5)] == [4, 3, 3, 2, 2, 2]
    narrow = table.narrowed(28)
    assert (narrow.header, narrow.rows, narrow.figures) == (["method", "value"], [["greedy", "0.635"]], 1)
    assert narrow.legend == ["value: share right"]
    assert shown([table], 28) == ["method  value", "greedy  0.635", "value: share right"]


def test_of_columns_that_matter_alike_the_last_is_left_out_first() -> None:
    table = Table(("a", "b", "c"), [("1" * 8, "2" * 8, "3" * 8)], 3, priority=[0, 1, 1])
    assert [table.narrowed(width).header for width in (28, 27, 17)] == [["a", "b", "c"], ["a", "b"], ["a"]]


def test_a_printed_table_uses_the_last_cell_of_the_terminal() -> None:
    """Two blanks at both ends, three between columns: 2 + 6 + 3 + 5 + 3 + 14 + 2 = 35 cells; 18 without the last."""
    table = Table(
        ("method", "value", "interval"), [("greedy", "0.635", "[0.567, 0.699]")], 2, priority=[0, 0, 1]
    )
    for width, widest in ((36, 35), (35, 35), (34, 18)):
        console = Console(file=io.StringIO(), width=width, record=True)
        console.print(printed(table, width=width))
        lines = console.export_text().splitlines()
        assert {len(line) for line in lines} == {widest}
        assert ("no room for: interval" in " ".join(" ".join(lines).split())) == (widest == 18)
        assert "  greedy   0.635  " in lines[3] and ("[0.567, 0.699]" in lines[3]) == (widest == 35)


def test_a_table_of_figures_that_has_no_room_is_printed_wider_than_the_terminal() -> None:
    """Two figures of 14 cells: 2 + 14 + 3 + 14 + 2 = 35 cells in a terminal of 20."""
    table = Table(("a", "b"), [("[0.567, 0.699]", "[0.123, 0.456]")], 2)
    console = Console(file=io.StringIO(), width=20, record=True)
    console.print(printed(table, width=20), crop=False)
    assert "  [0.567, 0.699]   [0.123, 0.456]  " in console.export_text().splitlines()
    assert shown([table], 20)[1] == "[0.567, 0.699]  [0.1", "in the console the first one is whole"


def test_headings_of_figures_are_wrapped_where_the_gaps_do_not_fit_either() -> None:
    """The headings take 7 + 9 + 9 cells, with two gaps of two 29."""
    table = Table(("method ", "one share", "two share"), [("greedy", "0.635", "0.1")], 2)
    assert table.narrowed(29).header == ["method ", "one share", "two share"]
    assert table.narrowed(28).header == ["method ", "one\nshare", "two\nshare"]
    assert shown([table], 28)[-1] == "greedy   0.635    0.1", (
        "a column is as wide as the longest line of its heading"
    )
    assert printed(table, width=30).caption is None, "nothing was left out"


def test_a_table_of_columns_has_their_words_cells_and_order() -> None:
    columns: list[ListColumn[tuple[str, float]]] = [
        ListColumn("name", "name", 8, value=lambda row: row[0]),
        ListColumn("value", "value", 5, "right", 2, help="what it is", value=lambda row: row[1],
                   show=lambda value: Cell(f"{value:.2f}", "good" if value > 0 else "bad")),
    ]  # fmt: skip
    [table] = table_of(columns, [("a", 0.5), ("b", -1)], "Title", ["a note"])
    assert table.rows == [[Span("a"), Span("0.50", "good")], [Span("b"), Span("-1.00", "bad")]]
    assert (table.header, table.figures, table.priority) == (["name", "value"], 1, [0, 2])
    assert table.legend == ["a note", "value: what it is"]
    assert table_of(columns, [], "Title") == []


def test_what_only_a_terminal_shows_has_words_in_documents() -> None:
    star = OnScreen([Paragraph("*****")], [Paragraph("a star")])
    blocks: list[Block] = [Beside([star], [Heading(("x ", Span("<y>", "good")), 2)], least=10)]
    assert shown(blocks, 9)[0] == "*****"
    assert [type(block) for block in in_one_column(blocks)] == [Paragraph, Heading]
    document = Document("t", blocks)
    assert 'x <span class="good">&lt;y&gt;</span></h2>' in to_html(document)
    assert "a star\n\n## x \\<y\\>" in to_markdown(document)


def test_changes_in_documents_name_both_texts_and_mark_words() -> None:
    document = Document("t", [Changes("one three", "one two", ("ours", "theirs"))])
    page = to_html(document)
    assert '<p class="dim">− theirs, + ours</p><pre>one <del>two</del><ins>three</ins></pre>' in page
    assert "```diff\n- one two\n+ one three\n```" in to_markdown(document)


def test_long_texts_are_cut_with_the_number_of_what_is_left_out_and_empty_facts_go() -> None:
    assert writing("x" * 20_001).text.endswith("x … 1 more characters")
    assert facts([("a", ""), ("b", None), ("c", "d")]).rows == [("c", "d")]
    assert plain((Span("a", "dim"), "b")) == "ab"


@pytest.mark.parametrize(
    ("share", "drawn"),
    [
        (0.0, "────"),
        (0.07, "╸───"),
        (0.5, "━━──"),
        (0.6, "━━╸─"),
        (0.93, "━━━╸"),
        (0.94, "━━━━"),
        (1.2, "━━━━"),
    ],
)
def test_a_bar_ends_at_the_nearest_half(share: float, drawn: str) -> None:
    """0.94 of eight halves are 7.52."""
    assert plain_bar(share, 4) == drawn


def test_figures_of_a_markdown_table_stand_to_the_right() -> None:
    table = to_markdown(Document("t", [Table(("name", "n", "share"), [("a", "1", "0.5")], 2)]))
    assert table == "# t\n\n| name | n | share |\n| --- | ---: | ---: |\n| a | 1 | 0.5 |\n"


@pytest.mark.parametrize(
    ("share", "drawn"),
    [(0.25, "━━━╸──────────"), (0.5, "━━━━━━━───────"), (0.0, "──────────────"), (1.0, "━━━━━━━━━━━━━━")],
)
def test_a_bar_is_as_full_as_what_is_done(share: float, drawn: str) -> None:
    """14 cells for a share of 1."""
    assert bar(share, 14, Style(), Style()).plain == drawn
