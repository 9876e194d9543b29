"""Where a report's plots draw what: coordinates worked out by hand. A plot is 640 points wide; y grows downwards."""

from __future__ import annotations

from math import nan
from types import SimpleNamespace
from typing import Any

import pytest

from app.blocks.drawing import COLOURS, Dot, Drawing, Label, Line
from app.blocks.plots import IntervalRow, curve_plot, interval_picture, interval_plot
from app.curves import apart, thin
from app.methods.chart import Series
from app.methods.page import Chart
from app.report.result_blocks import _curves
from app.state.run import RunState


def marks(drawing: Drawing | None) -> list[Line | Dot | Label]:
    assert drawing is not None
    return list(drawing.marks)


def lines(drawing: Drawing | None, style: str) -> list[list[tuple[float, float]]]:
    """The lines of a style, to a tenth of a point."""
    return [
        [(round(x, 1), round(y, 1)) for x, y in mark.points]
        for mark in marks(drawing)
        if isinstance(mark, Line) and mark.style == style
    ]


def dot(name: str, value: float) -> IntervalRow:
    return name, value, None, None


def test_an_interval_reaches_from_its_low_end_to_its_high_end() -> None:
    """0.2 to 0.8 around 0.4, with a 20th of 0.6 (0.03) of room on both sides: the axis from 0.17 to 0.83 has 300 points
    from 190 to 490. So 0.2 stands at 203.6, 0.4 at 294.5, 0.8 at 476.4; the ends have strokes of 8 points."""
    drawing = interval_plot([("esm", 0.4, 0.2, 0.8)])
    whole, low, high = lines(drawing, "c0")
    assert whole == [(203.6, 11.0), (476.4, 11.0)]
    assert low == [(203.6, 7.0), (203.6, 15.0)] and high == [(476.4, 7.0), (476.4, 15.0)]
    [dot] = [mark for mark in marks(drawing) if isinstance(mark, Dot)]
    assert (round(dot.x, 1), dot.y) == (294.5, 11.0)
    texts = [mark.text for mark in marks(drawing) if isinstance(mark, Label)]
    assert "esm" in texts and "0.400 [0.200, 0.800]" in texts


def test_each_value_has_a_row_and_its_own_name() -> None:
    """Rows of 22 points, in the order given."""
    drawing = interval_plot([dot("a", 1.0), dot("b", 0.0)])
    dots = [(round(mark.x, 1), mark.y) for mark in marks(drawing) if isinstance(mark, Dot)]
    assert dots == [(476.4, 11.0), (203.6, 33.0)]
    names = {mark.text: mark.y for mark in marks(drawing) if isinstance(mark, Label) and mark.anchor == "end"}
    assert names == {"a": 11.0, "b": 33.0}


def test_an_interval_that_begins_at_zero_and_a_value_of_zero() -> None:
    """They are figures like all others."""
    [picture] = interval_picture([("a", 0.0, 0.0, 0.25), ("b", None, 0.0, 0.5)], "c")
    texts = {mark.text for mark in marks(picture.drawing) if isinstance(mark, Label)}
    assert "0.000 [0.000, 0.250]" in texts and "b" not in texts
    assert len(lines(picture.drawing, "c0")) == 3, "the interval with its two ends"


def test_a_single_value_has_room_in_proportion_to_it() -> None:
    """A tenth of 100 on both sides: from 90 to 110."""
    texts = {mark.text for mark in marks(interval_plot([dot("a", 100.0)])) if isinstance(mark, Label)}
    assert {"90", "95", "100", "105", "110"} <= texts


def test_the_line_where_nothing_differs() -> None:
    """-1 to 3 with 0.2 of room, so -1.2 to 3.2 on 300 points: zero stands at 190 + 1.2 / 4.4 × 300."""
    drawing = interval_plot([("a", 1.0, -1.0, 3.0)], zero=True)
    assert lines(drawing, "zero") == [[(271.8, 0), (271.8, 28.0)]]


def test_the_line_where_nothing_differs_has_room_beside_values_of_one_sign() -> None:
    """1 to 3: the axis begins at zero for the line, with 0.15 of room, so -0.15 to 3.15 on 300 points."""
    drawing = interval_plot([("a", 2.0, 1.0, 3.0)], zero=True)
    assert lines(drawing, "zero") == [[(203.6, 0), (203.6, 28.0)]]


def test_a_curve_rises_upwards() -> None:
    """From (0, 0) to (10, 1): with a 20th of room, x from -0.5 to 10.5 on 46 to 490, y from -0.05 to 1.05 on 176 to 8.
    The lowest value stands lowest: at y = 168.4; the highest at 15.6."""
    [line, key] = lines(curve_plot([Series("loss", [0, 10], [0.0, 1.0])], "step"), "c0")
    assert line == [(66.2, 168.4), (469.8, 15.6)]
    assert key == [(494.0, 15.6), (516.0, 15.6)]


def test_labels_of_the_axis_stand_at_their_values() -> None:
    """0 at the height of the curve's lowest value, 1 at that of its highest; across, 0 and 10 below its ends."""
    drawing = curve_plot([Series("loss", [0, 10], [0.0, 1.0])], "step")
    up = {m.text: round(m.y, 1) for m in marks(drawing) if isinstance(m, Label) and m.anchor == "end"}
    assert (up["0"], up["1"]) == (168.4, 15.6)
    below = {m.text: round(m.x, 1) for m in marks(drawing) if isinstance(m, Label) and m.anchor == "middle"}
    assert (below["0"], below["10"]) == (66.2, 469.8) and "step" in below


def labels(drawing: Drawing | None) -> list[tuple[float, float, str, str]]:
    return [(round(m.x, 1), round(m.y, 1), m.text, m.anchor) for m in marks(drawing) if isinstance(m, Label)]


def test_where_everything_beside_an_interval_stands() -> None:
    """A row of 22 points and 6 of room: the axis' labels stand 11 below 28, in a drawing of 48; names end 10 before
    190, values begin 12 behind 490. 0.17 to 0.83 have ticks at 0.2, 0.4, 0.6 and 0.8, each 90.9 from the last."""
    drawing = interval_plot([("a name of thirty-one characters", 0.4, 0.2, 0.8)])
    assert labels(drawing) == [
        (203.6, 39.0, "0.2", "middle"), (294.5, 39.0, "0.4", "middle"), (385.5, 39.0, "0.6", "middle"),
        (476.4, 39.0, "0.8", "middle"), (180.0, 11.0, "a name of thirty-one characte…", "end"),
        (502.0, 11.0, "0.400 [0.200, 0.800]", "start"),
    ]  # fmt: skip
    assert lines(drawing, "grid")[0] == [(203.6, 0), (203.6, 28.0)]
    assert drawing is not None and (drawing.width, drawing.height) == (640, 48)


def test_where_everything_beside_a_curve_stands() -> None:
    """The axis 34 above the bottom of 210, its labels 22 and its title 6 above it, in the middle of 46 and 490; the
    curve's name 31 behind its end, in 20 characters."""
    drawing = curve_plot([Series("a loss of many characters", [0, 10], [0.0, 1.0])], "step")
    assert lines(drawing, "axis") == [[(46.0, 176.0), (490.0, 176.0)]]
    assert {(x, anchor) for x, y, text, anchor in labels(drawing) if anchor == "end"} == {(40.0, "end")}
    below = [(y, text) for x, y, text, anchor in labels(drawing) if anchor == "middle"]
    assert below == [(188.0, text) for text in ("0", "5", "10")] + [(204.0, "step")]
    assert (268.0, 204.0, "step", "middle") in labels(drawing)
    assert labels(drawing)[-1] == (521.0, 15.6, "a loss of many char…", "start")
    assert drawing is not None and (drawing.width, drawing.height) == (640, 210)


def test_a_line_is_thinned_only_where_it_has_more_points_than_there_is_room_for() -> None:
    """Three points fit into three; in the room of one the lowest and the highest are kept."""
    assert thin([0, 1, 2], [5.0, 1.0, 3.0], 3) == ([0, 1, 2], [5.0, 1.0, 3.0])
    assert thin([0, 1, 2, 3], [5.0, 1.0, 9.0, 3.0], 1) == ([1, 2], [1.0, 9.0])


def test_what_has_nothing_to_draw_is_left_out() -> None:
    """A curve of one point, and those for which there is no colour."""
    assert curve_plot([Series("one", [1], [1.0])], "step") is None
    many = curve_plot(
        [Series(f"c{number}", [0, 1], [0.0, 1.0]) for number in range(len(COLOURS) + 1)], "step"
    )
    assert [text for _, _, text, anchor in labels(many) if text.startswith("c")] == [
        f"c{number}" for number in range(len(COLOURS))
    ]


def test_a_spike_between_many_points_is_drawn() -> None:
    """The highest of 10,000 points is kept; what is no number is left out."""
    y = [0.0] * 10_000
    y[4321], y[17] = 1.0, nan
    [line, _] = lines(curve_plot([Series("loss", range(10_000), y)], "step"), "c0")
    assert len(line) <= 402 and min(height for _, height in line) == 15.6


def test_names_of_curves_that_end_together_do_not_cover_each_other() -> None:
    """Fourteen points apart, each beside the key of its own line."""
    drawing = curve_plot([Series(name, [0, 1], [0.0, 1.0]) for name in "ab"], "step")
    ends = {m.text: round(m.y, 1) for m in marks(drawing) if isinstance(m, Label) and m.text in ("a", "b")}
    assert ends == {"a": 15.6, "b": 29.6}


def test_names_of_curves_that_end_at_the_bottom_go_up() -> None:
    """Both end at 168.4; the axis is at 176, where the lower name stays, 14 below the other."""
    drawing = curve_plot([Series(name, [0, 1], [1.0, 0.0]) for name in "ab"], "step")
    ends = {m.text: round(m.y, 1) for m in marks(drawing) if isinstance(m, Label) and m.text in ("a", "b")}
    assert ends == {"a": 162.0, "b": 176.0}


def test_a_curve_that_begins_later_begins_further_right() -> None:
    """Both stand on one axis, from -0.5 to 10.5 on 46 to 490: 5 is in its middle."""
    drawing = curve_plot([Series("late", [5, 10], [0.0, 1.0]), Series("early", [0, 10], [0.0, 1.0])], "step")
    assert [lines(drawing, style)[0][0] for style in ("c0", "c1")] == [(268.0, 168.4), (66.2, 168.4)]
    assert [(46.0, 168.4), (490.0, 168.4)] in lines(drawing, "grid"), "at each value of the axis"


def test_half_an_interval_is_none() -> None:
    for row in (("a", 0.4, 0.2, None), ("a", 0.4, None, 0.8)):
        drawing = interval_plot([row])
        assert lines(drawing, "c0") == [] and labels(drawing)[-1][2] == "0.400"


@pytest.mark.parametrize(
    ("places", "last", "least", "moved"),
    [
        ([3, 3, 3], 9, 1, [3, 4, 5]),
        ([9, 9], 9, 1, [8, 9]),
        ([0, 9, 9, 8], 9, 1, [0, 8, 9, 7]),
        ([5, 1], 9, 1, [5, 1]),
        ([10.0, 12.0], 100.0, 14.0, [10.0, 24.0]),
        ([], 9, 1, []),
    ],
)
def test_names_are_moved_as_little_as_there_is_room(
    places: list[float], last: float, least: float, moved: list[float]
) -> None:
    """Down first, and up again where they would end below the last row."""
    assert apart(places, last, least) == moved


def test_a_report_draws_lines_and_neither_raw_values_nor_single_points() -> None:
    """Points that are the best of their time are no course; raw values are dim dots on the screen alone."""
    mean = Series("loss, mean of 3", [0, 1, 2], [3.0, 2.0, 1.0])
    raw = Series("loss", [0, 1, 2], [4.0, 1.0, 1.0], faint=True)
    best = Series("best", [0, 2], [3.0, 1.0], "★", points=True)
    page: Any = SimpleNamespace(
        result_charts=[Chart("loss", "step", lambda state: [raw, mean, best])],
        training_charts=[Chart("points alone", "step", lambda state: [best])],
    )
    [picture] = _curves(page, RunState())
    assert picture.caption == "loss" and picture.drawing == curve_plot([mean], "step")
