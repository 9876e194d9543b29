"""What charts draw: outlines, axes, names, and nothing when nothing changed."""

from __future__ import annotations

import subprocess
import sys
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style
from textual.app import App, ComposeResult
from textual.theme import Theme

from app.curves import thin, ticks
from app.methods.chart import Series, running_mean, with_mean
from app.terminal.themes import DARK, LIGHT
from screens.widgets.charts import plot
from screens.widgets.charts.chart import Chart
from screens.widgets.charts.plot import Frame, draw_plot
from screens.widgets.tones import tone

_values = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400)
_STYLES = {
    name: Style.null() for name in ("title", "axis", "faint", "point", "line-0", "line-1", "line-2", "line-3")
}


def plain(series: list[Series], frame: Frame) -> list[str]:
    """The chart as text."""
    return [line.plain for line in draw_plot(series, frame, _STYLES)]


@given(_values, st.integers(4, 60))
def test_thinned_lines_keep_their_outline(y: list[float], points: int) -> None:
    """Few points, in order, with the same lowest and highest value."""
    x, thinned = thin(range(len(y)), y, points)
    assert len(x) <= max(len(y) if len(y) <= points else 0, points + 2)
    assert list(x) == sorted(x)
    assert (min(thinned), max(thinned)) == (min(y), max(y))


def test_what_is_no_number_is_left_out() -> None:
    """NaN and infinities have no place on an axis."""
    assert thin([1, 2, 3, 4], [0.5, nan, inf, 0.25], 10) == ([1, 4], [0.5, 0.25])
    assert thin([1, nan, 3, inf], [0.5, 0.75, 1.0, 0.25], 10) == ([1, 3], [0.5, 1.0])
    assert thin([1, nan, 3, 4], [0.5, 0.75, 1.0, nan], 2) == ([1, 3], [0.5, 1.0])
    assert thin([1, nan, 3, 4], [0.5, 0.75, 0.25, 0.5], 2) == ([3], [0.25]), "the highest has no place"


@given(st.lists(st.floats(-1e6, 1e6).map(lambda v: round(v, 3)), min_size=1, max_size=20), st.integers(2, 12))
def test_ticks_enclose_the_values(values: list[float], most: int) -> None:
    """Round, rising, not many more than asked for."""
    found = ticks(values, most)
    assert found[0] <= min(values) + 1e-6 and found[-1] >= max(values) - 1e-6
    assert found == sorted(found)
    assert len(found) <= most + 3


def test_a_value_too_small_to_divide_has_ticks() -> None:
    """The least number above zero, which half of is zero."""
    assert ticks([5e-324], 5) == [0.0, 0.2]


def test_ticks_of_accuracies() -> None:
    """Steps of 1, 2 or 5."""
    assert ticks([0.58, 1.0], 5) == [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert ticks([4, 25], 6) == [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]
    assert ticks([0.001, 0.004], 4) == [0.001, 0.002, 0.003, 0.004]


@given(
    st.lists(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30), min_size=1, max_size=5),
    st.integers(4, 120), st.integers(1, 30),
)  # fmt: skip
def test_a_chart_has_the_size_that_it_is_given(ys: list[list[float]], width: int, height: int) -> None:
    """Whatever the values are; with little room it says the values instead."""
    series = [Series(f"line {i}", range(len(y)), y) for i, y in enumerate(ys)]
    lines = plain(series, Frame(width, height, "figure, unit", "step"))
    assert len(lines) == height and all(cell_len(line) <= width for line in lines)


@pytest.mark.parametrize(
    ("width", "name"),
    [
        (26, "● success, mean of 3 0.677"), (25, "● success ~0.677"), (16, "● success ~0.677"),
        (15, "● succe… ~0.677"),
    ],
)  # fmt: skip
def test_a_name_gives_up_its_end_before_it_is_cut(width: int, name: str) -> None:
    """What stands behind the comma goes first: a mean is about the last value."""
    assert plot._name(Series("loss, validation", [1], [0.5], "●"), 0.5, 14) == "● loss 0.500"
    assert plot._name(Series("success, mean of 3", [1], [0.677], "●"), 0.677, width) == name


def test_no_name_covers_a_line() -> None:
    """Every line can be seen whole: the names stand beside the canvas, in the rows of the lines' ends."""
    flat = [
        Series(name, [0, 1, 2], [y] * 3) for name, y in (("oracle", 1.0), ("selector", 0.9), ("random", 0.5))
    ]
    lines = plain(flat, Frame(70, 14, "accuracy, 0 to 1", "training step"))
    assert lines[0].startswith("accuracy, 0 to 1") and "training step" in lines[-2]
    for row, mark, name in ((1, "●", "oracle 1.000"), (3, "▲", "selector 0.900"), (11, "■", "random 0.500")):
        line, _, end = lines[row].partition(f" {mark} ")
        assert end == name
        canvas = line[4:].rstrip()
        assert mark in canvas and all("⠀" < sign <= "⣿" or sign in "●▲■" for sign in canvas), line


def test_names_have_rows_of_their_own() -> None:
    """Also where the lines end at one point, and at the bottom."""
    lines = plain([Series(n, [0, 1], [1.0, 0.0]) for n in "abc"], Frame(60, 9, "y", "x"))
    assert sum(f" {name} 0.000" in line for line in lines for name in "abc") == 3


def test_the_raw_line_lies_under_its_mean() -> None:
    """The mean of each point and those before it; the raw line is faint and has no name."""
    assert running_mean([1, 2, 3, nan, 5], 2) == [1, 1.5, 2.5, 3, 5]
    raw, mean = with_mean("loss", range(100), [float(i % 2) for i in range(100)])
    assert raw.faint and not mean.faint and mean.label == "loss, mean of 5"
    assert "loss 1" not in "\n".join(plain([raw, mean], Frame(80, 10, "loss", "step")))


async def test_nothing_is_drawn_again_while_the_data_are_the_same(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """A screen shows its charts some times a second."""
    import screens.widgets.charts.chart as module

    drawn = []
    monkeypatch.setattr(module, "draw_plot", lambda *args: drawn.append(1) or draw_plot(*args))

    class ChartApp(App[None]):
        def compose(self) -> ComposeResult:
            yield Chart("accuracy", "step")

    async with ChartApp().run_test(size=(80, 24)) as pilot:
        chart = pilot.app.query_one(Chart)
        for last in (0.5, 0.5, 0.5, 0.75):
            chart.show_series([Series("esm", [0, 1], [0.0, last])])
            await pilot.pause()
        assert len(drawn) == 2


@pytest.mark.parametrize("theme", (DARK, LIGHT), ids=lambda theme: theme.name)
async def test_four_lines_have_four_colours(theme: Theme) -> None:
    """Where lines cross, their marks are far."""
    async with App[None]().run_test(size=(80, 24)) as pilot:
        pilot.app.register_theme(theme)
        pilot.app.theme = theme.name
        chart = Chart("accuracy", "step")
        await pilot.app.mount(chart)
        assert len({tone(chart, f"line-{number}").color for number in range(4)}) == 4


def test_a_series_without_points_is_none() -> None:
    """A pane whose charts have none has no room for them."""
    chart = Chart("accuracy", "step")
    some, none = Series("esm", [0, 1], [0.0, 0.5]), Series("greedy", [], [])
    for given_, kept in (([none], []), ([none, some], [some]), ([], [])):
        chart.show_series(given_)
        assert chart.series == kept


def test_the_screen_is_imported_without_anything_slow() -> None:
    """Charts must not cost the first paint, nor may anything slow come in with the screen."""
    slow = ("torch", "numpy", "pydantic")
    code = f"import sys, screens.esm.screen; print([m for m in {slow} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
