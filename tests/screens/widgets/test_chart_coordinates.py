"""Where a chart draws what: each cell here was worked out by hand.

A canvas of 20 × 10 cells has 40 × 40 dots. It begins behind the labels and the axis, and a title stands above it.
"""

from __future__ import annotations

import subprocess
import sys
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style
from rich.text import Text

from app.methods.chart import Series, with_mean
from screens.widgets.charts.axis import Axis, spanning
from screens.widgets.charts.plot import Frame, draw_plot, numbered
from screens.widgets.charts.plotext_canvas import (
    Line,
    Sign,
    alone,
    draw_canvas,
    line_through,
)

_NAMES = ("title", "axis", "faint", "point", "line-0", "line-1", "line-2", "line-3")
STYLES = {name: Style(color=f"color({number})") for number, name in enumerate(_NAMES, start=1)}


def lines_of(series: list[Series]) -> list[Text]:
    """A chart whose canvas has 20 × 10 cells: four cells for `0.2┤`, ten for ` ● a 1.000`."""
    return draw_plot(series, Frame(34, 13, "y", "x"), STYLES)


def canvas(series: list[Series]) -> list[str]:
    """Its rows of canvas, from the top."""
    return [line.plain[4:24] for line in lines_of(series)[1:11]]


def style_at(lines: list[Text], row: int, column: int) -> str:
    """The name of the style of a cell; row 0 is the title."""
    [style] = {str(s.style) for s in lines[row].spans if s.start <= column < s.end} or {str(lines[row].style)}
    return next(name for name, known in STYLES.items() if str(known) == style)


def test_a_rising_line_goes_from_corner_to_corner() -> None:
    """The lowest value at the first point is in the last row, first column; the highest in the first row, last column.
    Two dots of each cell: the left one lower than the right one."""
    rows = canvas([Series("a", [0, 10], [0.0, 1.0])])
    assert rows[0] == " " * 18 + "⡠⠊"
    assert rows[9] == "⡠⠊" + " " * 18
    assert [len(row.rstrip()) for row in rows] == [20, 18, 16, 14, 12, 10, 8, 6, 4, 2]


def test_a_falling_line_falls() -> None:
    """A loss: what is lower stands lower, whatever is better."""
    rows = canvas([Series("a", [0, 10], [1.0, 0.0])])
    assert rows[0] == "⠑⢄" + " " * 18
    assert rows[9] == " " * 18 + "⠑⢄"


def test_labels_stand_in_the_rows_of_their_values() -> None:
    """Of 40 dots 0.2 is the 8th (0.2 × 39 = 7.8), so in the third row from below (dots 8 to 11); 0.4 is the 16th,
    0.6 the 23rd and 0.8 the 31st."""
    rows = [line.plain[:4] for line in lines_of([Series("a", [0, 10], [0.0, 1.0])])]
    assert rows == [
        "y   ",
        "  1┤",
        "   │",
        "0.8┤",
        "   │",
        "0.6┤",
        "0.4┤",
        "   │",
        "0.2┤",
        "   │",
        "  0┤",
        "   └",
        "    ",
    ]


def test_an_axis_with_a_single_round_number_goes_from_one_to_the_next() -> None:
    """Between 0.5 and 1.9 lies 1 alone; 0 to 2 encloses them. Between 0.5 and 2.5 lie 1 and 2."""
    assert spanning([0.5, 1.9], 40, 2) == Axis(0, 2, 40, [0, 1, 2])
    assert spanning([0.5, 2.5], 40, 3) == Axis(0.5, 2.5, 40, [1, 2])


def test_what_lies_outside_an_axis_stands_at_its_end() -> None:
    """From 0 to 10 over 40 dots: a quarter of 39 is 9.75."""
    assert Axis(0, 10, 40, [0, 10]).places([-5.0, 0.0, 2.5, 10.0, 12.5]) == [0.0, 0.0, 9.75, 39.0, 39.0]


def test_labels_across_stand_under_their_values() -> None:
    """0 under the first column, 5 under dot 20 (5 / 10 × 39 = 19.5, rounded to even), which is column 10; 10 ends under
    the last column; the title stands behind the axis."""
    *_, axis, labels = [line.plain for line in lines_of([Series("a", [0, 10], [0.0, 1.0])])]
    assert axis == "   └┬─────────┬────────┬ x"
    assert labels == "    0         5       10"


@pytest.mark.parametrize(
    ("x", "y", "row", "column"), [(0, 0, 9, 0), (10, 1, 0, 19), (5, 0.5, 4, 10), (10, 0, 9, 19)]
)
def test_a_sign_stands_in_the_cell_of_its_value(x: float, y: float, row: int, column: int) -> None:
    """The step that was kept, the best one. 0.5 is dot 20 of 40 from below (19.5 to even): the fifth row
    from the top."""
    rows = canvas([Series("a", [0, 10], [0.0, 1.0]), Series("b", [x], [y], "★", points=True)])
    assert [(r, line.index("★")) for r, line in enumerate(rows) if "★" in line] == [(row, column)]


def test_a_sign_lies_on_the_line_whose_point_it_marks() -> None:
    """On every row: plotext rounds signs to cells and lines to dots, which must not part them."""
    for at in range(11):
        line, mark = Series("a", [0, 10], [0.0, 1.0]), Series("b", [at], [at / 10], "★", points=True)
        before, after = canvas([line]), canvas([line, mark])
        [(row, column)] = [(r, text.index("★")) for r, text in enumerate(after) if "★" in text]
        assert before[row][column] != " ", at


@pytest.mark.parametrize("gap", [nan, inf, -inf])
def test_a_value_that_is_no_number_leaves_the_rest_where_it_is(gap: float) -> None:
    """The line joins its neighbours, and no axis is stretched."""
    assert canvas([Series("a", [0, 5, 10], [0.0, gap, 1.0])]) == canvas([Series("a", [0, 10], [0.0, 1.0])])


def test_one_value_alone_is_drawn_at_the_bottom_left() -> None:
    """An axis of one value has no length: nothing is divided by it."""
    rows = [line.plain for line in draw_plot([Series("a", [3], [5.0])], Frame(34, 13, "y", "x"), STYLES)]
    assert sum(any("⠀" < sign <= "⣿" for sign in row) for row in rows) == 1
    assert "⡀" in rows[10] and rows[10].startswith("5┤")


def test_each_line_has_its_own_style_and_names_have_that_of_their_line() -> None:
    """The mark as well as the colour tells lines apart; axes and titles have styles of their own."""
    flat = [Series(name, [0, 10], [y, y]) for name, y in (("a", 1.0), ("b", 0.0))]
    lines = lines_of(flat)
    assert (style_at(lines, 1, 5), style_at(lines, 10, 5)) == ("line-0", "line-1")
    assert lines[1].plain[24:] == " ● a 1.000" and lines[10].plain[24:] == " ▲ b 0.000"
    assert (style_at(lines, 1, 26), style_at(lines, 10, 26)) == ("line-0", "line-1")
    assert (style_at(lines, 0, 0), style_at(lines, 3, 0), style_at(lines, 11, 25)) == (
        "title",
        "axis",
        "title",
    )


def marks(rows: list[str], sign: str) -> list[tuple[int, int]]:
    """The rows and columns of a sign, by column."""
    found = [
        (row, column) for row, line in enumerate(rows) for column, each in enumerate(line) if each == sign
    ]
    return sorted(found, key=lambda place: place[1])


def test_few_points_all_have_their_lines_sign_and_no_other_column_has_one() -> None:
    """1, 10 and 20 of an axis from 1 to 20 over 40 dots: dots 0, 18.5 (9 / 19 × 39, rounded to 18) and 39, so columns
    0, 9 and 19. 0.4 is dot 15.6, the fourth cell from below; 0.5 dot 19.5, rounded to even: the sixth."""
    rows = canvas([Series("a", [1, 10, 20], [0.0, 0.4, 1.0]), Series("b", [1, 10, 20], [1.0, 0.5, 0.0])])
    assert marks(rows, "●") == [(9, 0), (5, 9), (0, 19)]
    assert marks(rows, "▲") == [(0, 0), (4, 9), (9, 19)]


def test_signs_of_many_points_stand_in_columns_of_points_apart_from_those_of_other_lines() -> None:
    """Eleven points 3.9 dots apart lie in columns 0, 2, 4, 6, 8, 10, 11, 13, 15, 17, 19. From column 4 on the first
    line has a sign, and 18 columns later there is no point; the second from column 9 on, so in the next, 10."""
    rows = canvas([Series("a", range(11), [1.0] * 11), Series("b", range(11), [0.0] * 11)])
    assert (marks(rows, "●"), marks(rows, "▲")) == ([(0, 4)], [(9, 10)])
    flat = [Series(name, range(41), [y] * 41) for name, y in (("a", 1.0), ("b", 0.0))]
    wide = [line.plain[4:44] for line in draw_plot(flat, Frame(54, 13, "y", "x"), STYLES)[1:11]]
    assert (marks(wide, "●"), marks(wide, "▲")) == ([(0, 4), (0, 22)], [(9, 9), (9, 27)])


def test_signs_of_points_that_meet_take_turns() -> None:
    """Nothing else would tell that there are two lines. At the third point it would be the third line's turn; of the
    others the later line's is seen. A line alone needs no sign."""
    same = [Series(name, [0, 5, 10], [0.5] * 3) for name in "ab"]
    rows = canvas([*same, Series("c", [0, 10], [0.0, 1.0])])
    assert (marks(rows, "●"), marks(rows, "▲")) == ([(4, 0)], [(4, 10), (4, 19)])
    assert not marks(canvas(same[:1]), "●")


def test_raw_values_are_dots_and_their_mean_is_a_line() -> None:
    """So they are told apart without colour: of a raw line that jumps between 0 and 1 no dot stands between them."""
    raw = Series("raw", range(101), [float(i % 2) for i in range(101)], faint=True)
    rows = canvas([raw])
    assert all(row.strip() for row in (rows[0], rows[9])) and not any(row.strip() for row in rows[1:9])
    lines = lines_of([raw, Series("a", [0, 100], [0.5, 0.5])])
    assert (style_at(lines, 1, 5), style_at(lines, 5, 6)) == ("faint", "line-0")


def test_the_first_line_lies_over_later_ones_and_over_what_is_raw() -> None:
    """Three times the same values: the cells are the first line's."""
    flat = [Series(name, range(11), [0.5] * 11, faint=name == "c") for name in "abc"]
    lines = lines_of([*flat, Series("d", [0, 10], [0.0, 1.0])])
    assert style_at(lines, 5, 6) == "line-0"


def test_lines_in_one_cell_are_both_seen() -> None:
    """0.12 and 0.18 are dots 5 and 7 (4.68 and 7.02) of the third row from below, which holds dots 4 to 7 from its
    lowest: the second and the highest of the cell. Over raw values (the third of them, dot 7.8, lies in
    column 4), a line is not made thick."""
    near = [
        Series("a", [0, 10], [0.12] * 2),
        Series("b", [0, 10], [0.18] * 2),
        Series("c", [0, 10], [0.0, 1.0]),
    ]
    assert canvas(near)[8][1] == chr(0x2800 + 0x04 + 0x20 + 0x01 + 0x08)
    over = [near[0], Series("b", range(11), [0.18] * 11, faint=True), near[2]]
    assert [canvas(over)[8][column] for column in (1, 4)] == [chr(0x2800 + 0x04 + 0x20)] * 2


def test_the_best_point_lies_over_those_that_were_only_validated() -> None:
    """Of points in one cell the later series is seen."""
    seen = [Series("v", [0, 5], [0.0, 1.0], "◇", points=True), Series("b", [5], [1.0], "★", points=True)]
    rows = canvas(seen)
    assert "★" in rows[0] and "◇" not in rows[0]


@given(st.lists(st.tuples(st.floats(0, 39), st.floats(0, 39)), min_size=2, max_size=12).map(sorted))
def test_marks_lie_on_their_lines(dots: list[tuple[float, float]]) -> None:
    """Wherever a point's sign may stand, the line has dots in that cell."""
    across, up = Axis(0, 1, 40, [0, 1]), Axis(0, 1, 40, [0, 1])
    drawn = [
        draw_canvas(across, up, [line_through(dots, 3)], [Sign(at, "●", 3) for at in dots[:n]])
        for n in (0, 12)
    ]
    plain, signed = (["".join(text for text, _ in row)[2:] for row in rows] for rows in drawn)
    assert all(plain[row][column] != " " for row, column in marks(signed, "●")) and marks(signed, "●")


def test_a_line_takes_a_dot_for_each_step_of_its_longer_way() -> None:
    """From 0.5, which is dot 1, three across and one up: plotext rounds the heights of its steps down. Dots alone are
    not joined."""
    line = line_through([(0.5, 0.0), (4.0, 1.0), (4.0, 4.0)], 3)
    assert list(dict.fromkeys(line.dots)) == [(1, 0), (2, 0), (3, 0), (4, 1), (4, 2), (4, 3), (4, 4)]
    assert line_through([(0.0, 100.0), (60.0, 100.0), (0.0, 100.0)] * 25, 3).joined, (
        "50 ways of 60: 3,000 dots"
    )
    assert not line_through([(0.0, 100.0), (60.0, 100.0), (0.0, 100.0)] * 60, 3).joined
    assert alone([(0.5, 0.0), (4.0, 1.49)], 3) == Line([(1, 0), (4, 1)], 3, joined=False)


@pytest.mark.parametrize(
    ("dot", "sign"),
    [
        ((0, 0), "⡀"),
        ((1, 0), "⢀"),
        ((0, 1), "⠄"),
        ((1, 1), "⠠"),
        ((0, 2), "⠂"),
        ((1, 2), "⠐"),
        ((0, 3), "⠁"),
        ((1, 3), "⠈"),
    ],
)
def test_each_dot_of_a_cell_is_its_own(dot: tuple[int, int], sign: str) -> None:
    """In the second cell of the third row from below, of 20 × 10: two more dots across, eight more up."""
    axis = Axis(0, 1, 40, [0, 1])
    rows = draw_canvas(axis, axis, [Line([(dot[0] + 2, dot[1] + 8)], 3)], [])
    assert "".join(text for text, _ in rows[7])[2:5] == " " + sign + " "
    assert rows[7][1:2] == [(sign, 3)]


def test_names_stand_in_the_rows_of_their_lines_ends() -> None:
    """Lines that end at 1, 0.5 and 0: in the first, sixth (dot 20 of 40 counted from below is row 4) and last row."""
    ends = lines_of([Series(name, [0, 10], [0.0, y]) for name, y in (("a", 1.0), ("b", 0.5), ("c", 0.0))])
    assert [i for i, line in enumerate(ends) if line.plain[25:26] in tuple("●▲■")] == [1, 5, 10]


def test_a_line_that_jumps_too_much_is_drawn_as_dots() -> None:
    """It would fill the chart; 100,000 points are drawn, and the highest and lowest are among them."""
    y = [float(i % 2) for i in range(100_000)]
    lines = draw_plot([Series("a", range(100_000), y)], Frame(200, 60, "y", "x"), STYLES)
    body = [line.plain for line in lines[1:58]]
    assert body[0][5:180].strip() and body[-1][5:180].strip()
    assert not any(row[5:180].strip() for row in body[1:-1])


def test_plotext_draws_what_its_own_text_says() -> None:
    """Its cells are read instead of its text with terminal codes: both are the same."""
    import plotext

    across, up = Axis(0, 10, 40, [0, 10]), spanning([0, 1], 40, 5)
    rows = draw_canvas(across, up, [Line([(0, 0), (39, 39)], 3)], [Sign((20, 20), "★", 1)])
    drawn = [line[:-1] for line in plotext.uncolorize(plotext.build()).splitlines()]
    assert drawn == ["".join(text for text, _ in row) for row in rows]


@pytest.mark.parametrize(
    "name", ["\x1b[31mred", "a\x1b]0;t\x07b", "line\nbreak", "[bold]x[/]", "hd", "braille"]
)
def test_names_from_data_are_never_plotexts(name: str) -> None:
    """Nothing of a name is read as a colour, a marker or a line break, and no control code is in the picture."""
    lines = draw_plot([Series(name, [0, 1], [0.0, 1.0])], Frame(60, 12, "y", "x"), STYLES)
    assert len(lines) == 12
    assert not any(ord(sign) < 32 or ord(sign) == 127 for line in lines for sign in line.plain)


def test_plotext_is_not_imported_before_a_chart_is_drawn() -> None:
    """Neither the first paint nor a screen with charts waits for it."""
    modules = "app.shell, app.methods.pool.what_if, screens.method_screen"
    code = f"import sys, {modules}; print('plotext' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_one_module_knows_plotext() -> None:
    """Whatever replaces it one day is written in one place."""
    from pathlib import Path

    root = Path(__file__).parents[3]
    users = [
        path.name
        for folder in ("app", "engine", "screens")
        for path in (root / folder).rglob("*.py")
        if "import plotext" in path.read_text()
    ]
    assert users == ["plotext_canvas.py"]


def test_with_mean_and_its_raw_values_share_their_axis() -> None:
    """The axis spans the raw values, not only the mean."""
    raw, mean = with_mean("loss", range(100), [0.0, 1.0] * 50)
    lines = draw_plot([raw, mean], Frame(60, 13, "loss", "step"), STYLES)
    assert lines[1].plain.startswith("  1┤") and lines[10].plain.startswith("  0┤")


def test_raw_values_lie_below_lines_wherever_they_stand_in_the_list() -> None:
    """A raw line comes before its mean: its dots must not cover the mean."""
    raw = Series("raw", range(11), [0.5] * 11, faint=True)
    lines = lines_of([raw, Series("a", [0, 10], [0.5] * 2), Series("b", [0, 10], [0.0, 1.0])])
    assert style_at(lines, 5, 6) == "line-0"


def test_where_there_are_more_lines_than_rows_the_highest_are_named() -> None:
    """Two rows of canvas: the names of the two lines that end highest, from the top."""
    ends = zip("dcba", (0.0, 0.3, 0.7, 1.0), strict=True)
    lines = draw_plot([Series(name, [0, 1], [y, y]) for name, y in ends], Frame(34, 5, "y", "x"), STYLES)
    assert [line.plain.rstrip()[-7:] for line in lines[1:3]] == ["a 1.000", "b 0.700"]


@pytest.mark.parametrize(
    ("width", "height", "drawn"), [(19, 13, True), (18, 13, False), (34, 5, True), (34, 4, False)]
)
def test_where_there_is_no_room_figures_are_said(width: int, height: int, drawn: bool) -> None:
    """Two rows and eight columns are drawn at least. The labels take four cells, names two fifths at most: 7 of 19, and
    of 18, too."""
    lines = draw_plot([Series("a", [0, 10], [0.0, 1.0])], Frame(width, height, "y", "x"), STYLES)
    assert len(lines) == height
    assert any("⠀" < sign <= "⣿" for line in lines for sign in line.plain) == drawn
    if not drawn:
        assert [line.plain for line in lines[:3]] == ["y", "● a 1.000", ""]
        assert [str(line.style) for line in lines[:2]] == [str(STYLES["title"]), str(STYLES["line-0"])]


def test_names_are_cut_before_their_values_are() -> None:
    """13 of 34 cells are for names, one of them free: `● `, four letters, and the value with a blank before it. Where
    figures alone are said, a name has the whole width."""
    long = [Series("accuracy of all", [0, 10], [0.0, 1.0])]
    lines = draw_plot(long, Frame(34, 13, "y", "an axis with a title"), STYLES)
    assert lines[1].plain.endswith(" ● acc… 1.000") and len(lines[1].plain) == 34
    assert lines[11].plain.endswith(" an axis wit…")
    assert draw_plot(long, Frame(18, 3, "y", "x"), STYLES)[1].plain == "● accuracy … 1.000"
    nothing = draw_plot([Series("a", [0, 1], [nan, inf])], Frame(9, 3, "accuracy, 0 to 1", "x"), STYLES)
    assert [line.plain for line in nothing] == ["accuracy…", "", ""]
    assert draw_plot([], Frame(9, 2, "y", "x"), STYLES)[0].plain == "y"


def test_a_faint_line_has_the_mark_of_its_mean_and_points_take_none() -> None:
    """So the mark of the next line does not depend on whether it has raw values."""
    series = [
        Series("raw", [0, 1], [0.0, 1.0], faint=True), Series("mean", [0, 1], [0.0, 1.0]),
        Series("best", [1], [1.0], "★", points=True), Series("other", [0, 1], [0.0, 1.0]),
    ]  # fmt: skip
    assert [one.mark for one in numbered(series)] == ["●", "●", "★", "▲"]
    many = numbered([Series(str(at), [0, 1], [0.0, 1.0]) for at in range(9)])
    assert "".join(one.mark for one in many) == "●▲■◆○△□▽●"


def test_how_far_a_line_goes_does_not_depend_on_where_it_lies() -> None:
    """Forty steps of 100 dots are 4,000, whatever lies before them; sixty are more than may be joined."""
    for steps, joined in ((40, True), (60, False)):
        for far in (0.0, 3000.0):
            aside = [(far + 100 * (at % 2), far) for at in range(steps + 1)]
            for dots in (aside, [(y, x) for x, y in aside]):
                assert line_through(dots, 3).joined is joined
