"""The virtual table, driven by keys and mouse: cursor, following, sorting, matches, what is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from app.table.column import Cell, ListColumn
from screens.widgets.tables.cells import fit_label, highlighted, justified, wrapped
from screens.widgets.tables.column_layout import fitted, place
from screens.widgets.tables.rows import Column, ItemSource, ListSource, RowSource
from screens.widgets.tables.still_table import StillTable
from screens.widgets.tables.virtual_table import VirtualTable
from tests.console import drawn

COLUMNS: Sequence[ListColumn[int]] = (
    ListColumn("number", "number", 8, "right", 0, value=lambda n: n),
    ListColumn("mod", "mod 7", 7, "right", 1, value=lambda n: n % 7),
    ListColumn("name", "name", 20, priority=2, flex=True, value=lambda n: f"row \x1b[31mnumber {n}"),
)


class Filtered(ListSource[int]):
    """`number 1` is highlighted."""

    @property
    def words(self) -> Sequence[str]:
        return ("number 1",)


class TableApp(App[None]):
    """One table."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.source = Filtered(COLUMNS)
        self.source.show(range(rows))
        self.messages: list[str] = []

    def compose(self) -> ComposeResult:
        yield VirtualTable(self.source, "Nothing yet.\n\nRows appear here when there are some.")

    def on_mount(self) -> None:
        self.query_one(VirtualTable).refresh_rows()
        self.query_one(VirtualTable).focus()

    def on_virtual_table_selected(self, message: VirtualTable.Selected) -> None:
        self.messages.append(f"selected {message.table.cursor}")

    def on_virtual_table_highlighted(self, message: VirtualTable.Highlighted) -> None:
        self.messages.append(f"highlighted {message.table.cursor}")


def lines(app: App[None]) -> list[str]:
    table = app.query_one(VirtualTable)
    return [table.render_line(y).text.rstrip() for y in range(table.size.height)]


def grow(app: TableApp, rows: int) -> VirtualTable:
    app.source.show(range(rows))
    table = app.query_one(VirtualTable)
    table.refresh_rows()
    return table


async def press(pilot: Pilot[None], *keys: str) -> VirtualTable:
    await pilot.press(*keys)
    await pilot.pause()
    return pilot.app.query_one(VirtualTable)


async def test_keys_move_the_cursor() -> None:
    """Arrows, hjkl, pages, g and G; never beyond the ends."""
    async with TableApp(100).run_test(size=(50, 12)) as pilot:
        for keys, row in (
            ("g", 0),
            ("down", 1),
            ("j", 2),
            ("k", 1),
            ("up", 0),
            ("up", 0),
            ("pagedown", 10),
            ("pageup", 0),
            ("G", 99),
            ("j", 99),
            ("home", 0),
            ("end", 99),
        ):
            table = await press(pilot, keys)
            assert table.cursor == row, keys
        assert lines(pilot.app)[-1].startswith("›")


async def test_follows_until_left_and_again_at_the_end() -> None:
    """New rows keep the cursor at the tail, unless the reader went away from it."""
    app = TableApp(100)
    async with app.run_test(size=(50, 12)) as pilot:
        table = grow(app, 120)
        assert (table.follow, table.cursor) == (True, 119)
        await press(pilot, "up")
        assert not table.follow
        top = table.scroll_y
        grow(app, 140)
        await pilot.pause()
        assert (table.cursor, table.scroll_y) == (118, top)
        await press(pilot, "G")
        assert table.follow
        grow(app, 150)
        assert table.cursor == 149
        await press(pilot, "f")
        assert not table.follow
        await press(pilot, "g", "f")
        assert (table.follow, table.cursor) == (True, 149)


async def test_wheel_stops_and_restarts_following() -> None:
    """Looking back with the wheel must not be undone by the next row."""
    app = TableApp(100)
    async with app.run_test(size=(50, 12)) as pilot:
        table = grow(app, 101)
        await pilot.pause()
        table.on_mouse_scroll_up()
        assert not table.follow
        table.go_to(90)
        table.scroll_end(animate=False)
        await pilot.pause()
        table.on_mouse_scroll_down()
        await pilot.pause()
        assert (table.follow, table.cursor) == (True, 100)


async def test_the_wheel_follows_nothing_in_another_order() -> None:
    """Where rows are sorted, the last one is not the newest: the cursor stays where it is."""
    app = TableApp(100)
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "g", "j", "right", "s")
        table.scroll_end(animate=False)
        await pilot.pause()
        table.on_mouse_scroll_down()
        await pilot.pause()
        assert (table.follow, table.cursor, table.sort_column) == (False, 1, "number")


async def test_sorting_keeps_the_cursor_on_its_row() -> None:
    """`s` sorts by the marked column: up, down, as before; a header's click does the same."""
    app = TableApp(30)
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "g", "j", "j", "j", "right", "right", "s")
        assert (table.sort_column, table.sort_reverse) == ("mod", False)
        assert app.source.item(table.cursor) == 3
        assert [app.source.item(row) % 7 for row in range(30)] == sorted(n % 7 for n in range(30))
        assert "mod 7↑" in lines(app)[0]
        await press(pilot, "s")
        assert (table.sort_reverse, app.source.item(table.cursor)) == (True, 3)
        await press(pilot, "s")
        assert (table.sort_column, table.cursor) == (None, 3)
        await pilot.click(VirtualTable, offset=(5, 0))
        await pilot.pause()
        assert table.sort_column == "number"


async def test_mouse_takes_the_cursor_and_opens() -> None:
    """A click selects the row under it, a double click opens it, enter too."""
    app = TableApp(30)
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "g")
        await pilot.click(VirtualTable, offset=(5, 4))
        await pilot.pause()
        assert table.cursor == 3
        await pilot.click(VirtualTable, offset=(5, 5), times=2)
        await press(pilot, "enter")
        assert app.messages[-2:] == ["selected 4", "selected 4"]


async def test_matches_are_marked_and_visited() -> None:
    """`n` and `N` go round; the mark is a sign, not only a colour."""
    app = TableApp(30)
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "g")
        table.look_for(["number 2"])
        await press(pilot, "n")
        assert table.cursor == 2
        assert lines(app)[3].startswith("›•")
        await press(pilot, "N", "N")
        assert table.cursor == 28


async def test_only_visible_rows_are_made() -> None:
    """A million rows: drawing asks the source for one screenful."""
    app = TableApp(1_000_000)
    asked: list[int] = []
    cells = app.source.cells
    app.source.cells = lambda row: asked.append(row) or cells(row)  # type: ignore[method-assign, func-returns-value]
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "G")
        assert table.cursor == 999_999
        assert len(set(asked)) < 60
        assert "999999" in lines(app)[-1]
        assert not any("\x1b" in line for line in lines(app))


async def test_empty_table_says_what_will_appear() -> None:
    """And keys do no harm there."""
    app = TableApp(0)
    async with app.run_test(size=(50, 12)) as pilot:
        await press(pilot, "j", "k", "g", "G", "n", "s", "enter", "pagedown", "f")
        text = "\n".join(lines(app))
        assert "Nothing yet." in text and "Rows appear here when there are some." in text
        grow(app, 1)
        assert app.query_one(VirtualTable).cursor == 0


async def test_a_table_that_has_not_looked_yet_does_not_claim_to_be_empty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(TableApp, "on_mount", lambda self: None)
    app = TableApp(0)
    async with app.run_test(size=(50, 12)):
        assert "Nothing yet." not in "\n".join(lines(app))
        app.query_one(VirtualTable).refresh_rows()
        assert "Nothing yet." in "\n".join(lines(app))


async def test_shrinking_rows_keep_the_cursor_inside() -> None:
    """A state of an earlier moment has fewer rows."""
    app = TableApp(100)
    async with app.run_test(size=(50, 12)) as pilot:
        await press(pilot, "k")
        table = grow(app, 10)
        await pilot.pause()
        assert table.cursor == 9
        assert table.scroll_y == 0
        grow(app, 0)
        await pilot.pause()
        assert "Nothing yet." in "\n".join(lines(app))


@pytest.mark.parametrize("width", range(4, 130, 7))
def test_columns_that_fit(width: int) -> None:
    """Shown columns never overlap nor leave the table; the least important go first."""
    columns = [Column(f"c{i}", f"c{i}", 5 + i, priority=(i * 3) % 8, flex=i % 3 == 0) for i in range(8)]
    placed = place(columns, width)
    assert placed
    for one, following in pairwise(placed):
        assert one.x + one.width < following.x
    assert len(placed) == 1 or placed[-1].x + placed[-1].width <= width
    shown, hidden = {p.index for p in placed}, set(range(8)) - {p.index for p in placed}
    if hidden:
        assert max(columns[i].priority for i in shown) <= min(columns[i].priority for i in hidden)


@pytest.mark.parametrize(
    ("texts", "width", "flex"),
    [([], 20, False), (["x" * 5], 20, False), (["x", "x" * 30], 30, False), (["x" * 31, "x"], 30, True)],
)
def test_a_column_is_as_wide_as_its_texts(texts: list[str], width: int, flex: bool) -> None:
    """20 cells at least and 30 at most; only what is above that takes room that is left."""
    number, mod, name = fitted(COLUMNS, "name", texts, 30)
    assert (number, mod) == tuple(COLUMNS[:2]) and (name.width, name.flex) == (width, flex)


def test_cells_compare_by_what_they_show() -> None:
    """The cache of drawn lines stands on this."""
    assert Cell("a", "good") == Cell("a", "good") != Cell("a", "bad")


async def test_it_stands_where_it_began_until_somebody_moves() -> None:
    """New rows leave it there; looking back follows again, but not once the cursor was moved."""
    app = TableApp(100)
    async with app.run_test(size=(50, 12)) as pilot:
        table = app.query_one(VirtualTable)
        table.begin_at(40)
        await pilot.pause()
        assert table.untouched and not table.follow and 0 < table.scroll_y < 40
        grow(app, 120)
        assert table.cursor == 40
        table.set_over(False)
        assert table.follow and table.cursor == 119
        table.begin_at(40)
        await press(pilot, "j")
        table.set_over(False)
        assert not table.untouched and table.cursor == 41


async def test_an_order_that_somebody_chose_stays_when_an_earlier_moment_is_looked_at() -> None:
    app = TableApp(100)
    async with app.run_test(size=(60, 12)) as pilot:
        table = app.query_one(VirtualTable)
        assert table.follow
        table.sort_by("mod")
        assert not table.follow, "the last row is not the newest"
        table.begin_at(40)  # as a pane does of itself
        await press(pilot, "s", "s")
        assert (table.sort_column, table.sort_reverse) == ("number", True)
        table.set_over(False)
        assert (table.sort_column, table.sort_reverse) == ("number", True)


def test_the_first_of_the_words_that_a_cell_has_is_highlighted() -> None:
    """Of two that begin together the longer one."""
    found = Style(bold=True)
    for words, parts in (
        (("apples", "two"), ["", "Two", " apples"]),
        (("tw", "two a"), ["", "Two a", "pples"]),
    ):
        pieces = highlighted([Segment("Two apples")], words, found)
        assert [piece.text for piece in pieces] == parts and pieces[1].style == found


@pytest.mark.parametrize(("width", "keys"), [(25, "abcd"), (24, "abc"), (19, "abc"), (18, "ab"), (12, "a")])
def test_of_columns_that_matter_alike_the_last_goes_first(width: int, keys: str) -> None:
    columns = [ListColumn[int](key, key, 5, priority=0 if key == "a" else 3) for key in "abcd"]
    assert "".join(placed.column.key for placed in place(columns, width)) == keys


async def test_headings_stand_over_their_columns_however_it_is_sorted() -> None:
    """The arrow stands behind the name, or in the gap where the column is no wider than it: `mod` and `number 7`."""
    columns = (
        ListColumn[int]("mod", "mod", 3, "right", 0, value=lambda n: n % 7),
        ListColumn[int]("number", "number", 8, "right", 0, value=lambda n: n),
        ListColumn[int]("name", "name", 4, value=lambda n: "abcd"),
    )
    app = TableApp(3)
    app.source = Filtered(columns)
    app.source.show(range(3))
    async with app.run_test(size=(30, 12)) as pilot:
        heads = []
        for column, reverse in ((None, False), ("mod", False), ("number", True), ("name", False)):
            app.query_one(VirtualTable).sort_by(column, reverse)
            await pilot.pause()
            heads.append(lines(app)[0])
        rows = lines(app)[1:4]
    assert heads == [
        "  mod   number name",
        "  mod↑  number name",
        "  mod  number↓ name",
        "  mod   number name↑",
    ]
    assert [row[2:] for row in rows] == ["  0        0 abcd", "  1        1 abcd", "  2        2 abcd"]


async def test_a_row_is_found_by_all_the_words() -> None:
    """Whatever their case and their order; nothing is found without words or beyond the rows."""
    app = TableApp(30)
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "g")
        found = {}
        for words in (["ROW", "12"], ["12", "5"], ["2", "row"], ["nowhere", "12"], []):
            table.look_for(words)
            found[" ".join(words)] = [row for row in range(-1, 31) if table.is_match(row)]
        await press(pilot, "n")
        table.look_for(["row", "12"])
        await press(pilot, "n", "n")
        told = [note.message for note in pilot.app._notifications]
    assert found == {
        "ROW 12": [12], "12 5": [12], "2 row": [2, 9, 12, 16, *range(20, 30)], "nowhere 12": [], "": [],
    }  # fmt: skip
    assert told == ["None of these rows is marked as found.", "None of the other rows is marked as found."]


async def test_why_a_table_is_empty_is_wrapped_between_its_edges() -> None:
    """30 of 34 cells; lines of a paragraph are one text; an empty line parts paragraphs; two lines of room above."""
    app = TableApp(0)
    async with app.run_test(size=(34, 12)) as pilot:
        app.query_one(VirtualTable).empty = "Nothing is here\nat this moment of the run.\n\nPress f."
        await pilot.pause()
        assert lines(app)[1:7] == [
            "",
            "  Nothing is here at this moment",
            "  of the run.",
            "",
            "  Press f.",
            "",
        ]


async def test_the_mouse_tells_what_a_heading_means() -> None:
    app = TableApp(3)
    app.source = Filtered(
        (*COLUMNS[:1], ListColumn("mod", "mod 7", 7, "right", 1, help="the rest", value=lambda n: n % 7))
    )
    app.source.show(range(3))
    async with app.run_test(size=(50, 12)) as pilot:
        told = []
        for x, y in ((5, 0), (12, 0), (12, 1), (40, 0)):
            await pilot.hover(VirtualTable, offset=(x, y))
            told.append(app.query_one(VirtualTable).tooltip)
    assert told == [None, "mod 7: the rest", None, None]


def test_room_that_is_left_is_shared_by_flexible_columns() -> None:
    """Of 40 cells 2 + 5 + 1 + 6 + 1 + 4 are needed, so 21 are left: 10 for the first, up to three times its own width;
    what it does not take the last one gets."""
    columns = [Column("a", "a", 5, flex=True), Column("b", "b", 6), Column("c", "c", 4, flex=True)]

    def placed(width: int) -> list[tuple[int, int]]:
        return [(each.x, each.width) for each in place(columns, width)]

    assert placed(40) == [(2, 15), (18, 6), (25, 12)]
    assert placed(22) == [(2, 6), (9, 6), (16, 6)]
    assert placed(19) == [(2, 5), (8, 6), (15, 4)]
    assert placed(90) == [(2, 15), (18, 6), (25, 12)], "three times at most"
    assert [(each.x, each.width) for each in place(columns[:1], 4)] == [(2, 2)]
    assert [(each.x, each.width) for each in place(columns[:1], 1)] == [(2, 1)], "one cell at least"


def test_text_in_its_cell() -> None:
    """Five cells for `ab`: what is odd of the middle goes to the right; wide letters count twice."""
    style, pad = Style(bold=True), Style(dim=True)
    for justify, texts in (
        ("left", ("", "ab", "   ")),
        ("right", ("   ", "ab", "")),
        ("center", (" ", "ab", "  ")),
    ):
        pieces = justified("ab", 5, justify, style, pad)
        assert [(piece.text, piece.style) for piece in pieces] == list(
            zip(texts, (pad, style, pad), strict=True)
        )
    assert [fit_label(text, 4) for text in ("abc", "abcd", "abcde", "所以所")] == [
        "abc",
        "abcd",
        "abcd",
        "所以",
    ]
    assert fit_label("abc", -1) == ""
    assert wrapped("one two\nthree\n\nfour", 5) == ["one two three", "", "four"], "20 cells at least"
    assert [len(wrapped(f"{'a' * 9} {'b' * count}", 5)) for count in (10, 11)] == [1, 2]


def test_only_what_is_looked_for_is_in_another_style() -> None:
    """In each piece the first place; a piece without a style takes only that of the match; no word is none."""
    bold, found = Style(bold=True), Style(underline=True)
    pieces = highlighted([Segment("ab ab", bold), Segment("cd")], ("AB", "", "d"), found)
    assert [(piece.text, piece.style) for piece in pieces] == [
        ("", bold), ("ab", bold + found), (" ab", bold), ("c", Style.null()), ("d", found), ("", Style.null()),
    ]  # fmt: skip


class Places(ListSource[Any]):
    """Each row was drawn from the events at these places."""

    def __init__(self, *rows: tuple[int, ...]) -> None:
        super().__init__((ListColumn("at", "at", 5, value=lambda row: row.place.offset),), "items")
        places = [[SimpleNamespace(offset=at) for at in row] for row in rows]
        self.show([SimpleNamespace(place=place[0], places=place) for place in places])


def test_where_rows_are_found() -> None:
    """By their key, which is their place in the log however they are sorted; by any event that they were drawn from."""
    source = Places((30, 31), (10,), (20, 5))
    assert [source.offset(row) for row in range(3)] == [30, 10, 20]
    assert [source.row_at(at) for at in (10, 31, 5, 7)] == [1, 0, 2, None]
    assert [source.key(row) for row in range(3)] == [0, 1, 2] and source.find(2) == 2
    source.sort("at", reverse=False)
    assert [source.key(row) for row in range(3)] == [1, 2, 0] and [source.find(key) for key in range(3)] == [
        2,
        0,
        1,
    ]
    assert source.row_at(31) == 2
    assert [source.find(key) for key in (3, "a", None)] == [None] * 3
    placed = [item.place.offset for item in map(source.at, (0, 2, 9)) if item is not None]
    assert placed == [10, 30, 30] and source.noun == "items"
    source.show([])
    assert source.at(0) is None
    source.sort(None, reverse=False)
    source.show([SimpleNamespace(place=None)])
    assert source.offset(0) is None and source.row_at(0) is None


def test_a_source_of_its_own_finds_rows_by_key_and_offset() -> None:
    class Letters(RowSource):
        def __len__(self) -> int:
            return 3

        def cells(self, row: int) -> tuple[Cell, ...]:
            return (Cell("abc"[row], "good"),)

        def offset(self, row: int) -> int | None:
            return 10 * row

    letters = Letters()
    assert [letters.find(key) for key in (0, 2, 3)] == [0, 2, None]
    assert [letters.row_at(at) for at in (20, 7)] == [2, None]
    assert (letters.values(1), letters.words, letters.noun, letters.key(2)) == (["b"], (), "rows", 2)
    assert RowSource().offset(0) is None and issubclass(ListSource, ItemSource)


async def test_a_still_table_never_follows() -> None:
    """Not on its last row; `n` has a use once words are looked for; the rest is as in every table."""

    class StillApp(App[None]):
        def compose(self) -> ComposeResult:
            source = Filtered(COLUMNS)
            source.show(range(9))
            yield StillTable(source, "Nothing.", id="still")

    async with StillApp().run_test(size=(50, 12)) as pilot:
        table = pilot.app.query_one("#still", StillTable)
        table.refresh_rows()
        table.focus()
        assert (table.cursor, table.follow, table.empty) == (0, False, "Nothing.")
        await pilot.press("G")
        assert (table.cursor, table.follow) == (8, False)
        assert [table.check_action(name, ()) for name in ("follow", "match", "sort")] == [False, False, True]
        table.look_for(["number 3"])
        assert table.check_action("match", ())
        await pilot.press("f", "n")
        assert (table.cursor, table.follow) == (3, False)


async def test_signs_stand_before_marked_rows_and_words_are_picked_out() -> None:
    """A sign of the row goes before that of a match; the cursor's before both."""

    class Placed(Filtered):
        def offset(self, row: int) -> int | None:
            return 100 * row if row else None

    app = TableApp(4)
    app.source = Placed(COLUMNS)
    app.source.show(range(4))
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "g", "j")
        table.signs = {100: "◆", 200: "◇", 0: "x"}
        table.look_for(["row"])
        table.refresh()
        await pilot.pause()
        assert [line[:2] for line in lines(app)[1:5]] == [" •", "›◆", " ◇", " •"]
        assert [line[:4] for line in lines(app)[5:7]] == ["", ""]
        found = [
            segment.text for segment in table.render_line(2) if segment.style and segment.style.underline
        ]
        assert found == ["row"]


async def test_the_mouse_sorts_by_the_column_under_it() -> None:
    """Columns of 8 and 7 cells begin at 2 and 11; the gap behind a column belongs to it. Below the rows is nothing."""
    app = TableApp(3)
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "g")
        sorted_by: list[str | None] = []
        for x in (1, 2, 10, 11, 18, 19):
            table.sort_by(None)
            await pilot.click(VirtualTable, offset=(x, 0))
            await pilot.pause()
            sorted_by.append(table.sort_column)
        table.sort_by(None)
        await pilot.click(VirtualTable, offset=(5, 3))
        await pilot.click(VirtualTable, offset=(5, 4), times=2)
        await pilot.pause()
        assert table.cursor == 2 and not [told for told in app.messages if told.startswith("selected")]
    assert sorted_by == [None, "number", "number", "mod", "mod", "name"]


async def test_a_page_leaves_a_row_of_the_page_before() -> None:
    """Twelve lines: a heading and eleven rows, of which ten are new. The cursor is kept in sight."""
    app = TableApp(100)
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "g")
        seen = []
        for key in ("pagedown", "j", "pagedown", "pageup", "pageup", "G"):
            await press(pilot, key)
            seen.append((table.cursor, round(table.scroll_y)))
    assert seen == [(10, 0), (11, 1), (21, 11), (11, 11), (1, 1), (99, 89)]


async def test_marking_columns_stops_at_the_ends() -> None:
    """From the left the first, from the right the last."""
    app = TableApp(3)
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "g")
        marked: list[str | None] = []
        for key in ("right", "right", "right", "right", "left", "left", "left"):
            await press(pilot, key)
            marked.append(None if table.marked_column is None else table.marked_column.key)
        table._marked = None
        await press(pilot, "left")
        assert table.marked_column is not None and table.marked_column.key == "name"
    assert marked == ["number", "mod", "name", "name", "mod", "number", "number"]


async def test_where_reading_of_a_finished_run_begins_is_amid_the_page() -> None:
    """Eleven rows: from the twelfth on, five stand above the cursor."""
    app = TableApp(100)
    async with app.run_test(size=(50, 12)) as pilot:
        table = app.query_one(VirtualTable)
        tops = []
        for row in (10, 11, 40):
            table.begin_at(row)
            await pilot.pause()
            tops.append((table.cursor, round(table.scroll_y)))
        assert tops == [(10, 0), (11, 6), (40, 35)]


async def test_why_it_waits_is_said_instead_of_why_it_is_empty() -> None:
    app = TableApp(0)
    async with app.run_test(size=(50, 12)) as pilot:
        table = app.query_one(VirtualTable)
        table.waiting = "Still reading."
        await pilot.pause()
        assert lines(app)[2] == "  Still reading."
        table.waiting = ""
        assert lines(app)[2] == "  Nothing yet."


async def test_a_search_goes_round_to_the_row_beside_the_one_that_it_began_at() -> None:
    """The last row that is looked at is the one before the cursor's, or behind it; its own is no other."""
    app = TableApp(5)
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "g", "j", "j")
        found = []
        for by, row in ((1, 1), (1, 1), (-1, 2), (-1, 9), (1, 3)):
            found.append((table.seek(by, lambda at, row=row: at == row), table.cursor))
        assert not table.seek(1, lambda at: False) and table.cursor == 3
    assert found == [(True, 1), (False, 1), (True, 2), (False, 2), (True, 3)]


async def test_the_row_under_the_cursor_stays_at_its_height_when_rows_come_before_it() -> None:
    """Sorted downwards, ten new rows stand above row 50: it was the fourth of the page, and is."""
    app = TableApp(100)
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "g")
        table.sort_by("number", reverse=True)
        table.go_to(49)
        await pilot.pause()
        height = table.cursor - round(table.scroll_y)
        grow(app, 110)
        await pilot.pause()
        assert (table.cursor, table.cursor - round(table.scroll_y)) == (59, height)


@pytest.mark.parametrize(
    ("words", "row", "found"),
    [
        (("one",), 0, True),
        (("ONE", "day"), 0, True),
        (("one", "two"), 0, False),
        (("one",), 1, False),
        ((), 0, False),
    ],
)
def test_words_are_found_whatever_their_case(words: tuple[str, ...], row: int, found: bool) -> None:
    """All of them, in any cell of a row that there is."""
    source = SimpleNamespace(cells=lambda row: [Cell("Day"), Cell("One")])
    table: Any = SimpleNamespace(
        search_words=(), _shown=1, source=source, refresh=lambda: None, post_message=lambda message: None,
        Changed=lambda table: None,
    )  # fmt: skip
    VirtualTable.look_for(table, words)
    assert VirtualTable.is_match(table, row) == found


async def test_the_last_row_of_another_order_is_not_the_newest() -> None:
    """Who goes to it stays on that row when rows come."""
    app = TableApp(6)
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "g", "right", "s", "s", "G")  # by number, downwards: the last one is 0
        assert (table.sort_reverse, table.cursor, table.selected_key) == (True, 5, 0) and not table.follow
        grow(app, 8)
        assert (table.cursor, table.selected_key) == (7, 0) and not table.follow


async def test_whoever_goes_back_to_where_a_table_began_has_moved() -> None:
    """When it was followed in between."""
    app = TableApp(30)
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "g")
        table.begin_at(2)
        assert table.untouched and not table.follow
        table.follow_again()
        table.go_to(2)
        assert table.cursor == 2 and not table.untouched
        table.set_over(False)
        assert (table.cursor, table.follow) == (2, False)


async def test_following_again_takes_the_rows_as_they_came() -> None:
    app = TableApp(30)
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "g", "right", "s", "s", "f")
        assert (table.sort_column, table.follow, table.cursor, table.selected_key) == (None, True, 29, 29)
        assert "29" in lines(app)[-1]


@pytest.mark.parametrize(("rows", "follows"), [(11, True), (12, False)])
async def test_the_wheel_looks_back_only_where_something_is_out_of_view(rows: int, follows: bool) -> None:
    """Eleven rows and their header fill twelve lines."""
    app = TableApp(rows)
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "G")
        assert table.follow and table.size.height == 12
        table.on_mouse_scroll_up()
        assert table.follow == follows


async def test_an_order_shows_the_row_under_the_cursor() -> None:
    """Also where one had scrolled away from it, and it stands on the same row as before."""
    app = TableApp(100)
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "g")
        table.scroll_to(y=50, animate=False)
        await pilot.pause()
        assert table.scroll_y == 50
        await press(pilot, "right", "s")
        assert (table.sort_column, table.cursor, table.scroll_y) == ("number", 0, 0)
        assert lines(app)[1].startswith("›")


async def test_who_goes_to_a_match_is_not_taken_to_the_newest_row() -> None:
    app = TableApp(30)
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "G")
        table.look_for(["number 2"])
        await press(pilot, "n")
        assert (table.cursor, table.follow) == (2, False)
        grow(app, 40)
        assert table.cursor == 2


async def test_the_row_under_the_cursor_stays_in_view_when_the_terminal_shrinks() -> None:
    app = TableApp(100)
    async with app.run_test(size=(50, 20)) as pilot:
        table = await press(pilot, "g", *["down"] * 15)
        assert (table.cursor, table.scroll_y) == (15, 0)
        await pilot.resize_terminal(50, 10)
        await pilot.pause()
        assert (table.cursor, table.scroll_y) == (15, 7), "nine rows, of which it is the last"
        assert lines(app)[-1].startswith("›")


async def test_a_row_that_was_drawn_gets_its_mark_and_loses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    app = TableApp(5)
    monkeypatch.setattr(app.source, "offset", lambda row: 10 * row)
    async with app.run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "g")
        seen = []
        for signs in ({}, {20: "◆"}, {20: "◈"}, {}):
            table.signs = signs
            seen.append("".join(line[1] for line in lines(app)[1:6]))
        assert seen == ["     ", "  ◆  ", "  ◈  ", "     "]


async def test_a_row_that_was_drawn_marks_the_words_of_the_search_of_now() -> None:
    """Both are in the row of number 3."""
    async with TableApp(5).run_test(size=(50, 12)) as pilot:
        table = await press(pilot, "g")
        marked = []
        for word in ("number", "number 3"):
            table.look_for([word])
            strip = table.render_line(4)
            marked.append([segment.text for segment in strip if segment.style and segment.style.underline])
        assert marked == [["number"], ["number 3"]]


async def test_the_row_under_the_cursor_alone_is_bold() -> None:
    app = TableApp(4)
    async with app.run_test(size=(50, 12)) as pilot:
        bold = []
        for key in ("g", "j"):
            table = await press(pilot, key)
            firsts = [next(iter(table.render_line(row + 1))) for row in range(4)]
            bold.append([bool(first.style and first.style.bold) for first in firsts])
        assert bold == [[True, False, False, False], [False, True, False, False]]


async def test_the_sign_of_the_cursor_is_drawn_where_it_went() -> None:
    app = TableApp(4)
    async with app.run_test(size=(50, 12)) as pilot:
        seen = []
        for key in ("g", "j", "k"):
            await press(pilot, key)
            seen.append([line[:1] for line in drawn(app).splitlines()[1:5]])
        assert seen == [["›", " ", " ", " "], [" ", "›", " ", " "], ["›", " ", " ", " "]]


async def test_other_rows_and_columns_are_drawn_at_once() -> None:
    """As many as before."""
    app = TableApp(3)
    async with app.run_test(size=(50, 12)) as pilot:
        await press(pilot, "g")
        app.source.show([5, 6, 7], COLUMNS[2:])
        app.query_one(VirtualTable).refresh_rows()
        await pilot.pause()
        assert [line.split() for line in drawn(app).splitlines()[:4]] == [
            ["name"], ["›", "row", "number", "5"], ["row", "number", "6"], ["row", "number", "7"],
        ]  # fmt: skip
