"""The line of tabs: the number of each is the key that shows it."""

from __future__ import annotations

import pytest
from rich.style import Style
from textual import on
from textual.app import App, ComposeResult
from textual.geometry import Size

from screens.widgets.tab_line import Tab, TabLine
from tests.named_tones import name_tones, parts

TABS = [Tab("cases", "Cases"), Tab("results", "Results")]


def test_tabs_are_numbered_from_one_where_numbers_are_their_keys() -> None:
    line = TabLine(TABS)
    assert [line._label(at, True) for at in range(2)] == [" 1 Cases ", " 2 Results "]
    line._counts["results"] = "1,024"
    assert line._label(1, True) == " 2 Results 1,024 " and line._label(1, False) == " 2 Results "
    assert TabLine(TABS, hint="1 the next kind")._label(1, True) == " Results "


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (40, " 1 Cases 300   2 Results 1,024  "),
        (31, " 1 Cases 300   2 Results 1,024  "),
        (30, " 1 Cases   2 Results 1,024  "),
        (26, " 1 Cases   2 Results  "),
    ],
)
def test_counts_stand_where_there_is_room(width: int, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All counts, that of the active tab, or none: 13 + 19 cells with their gaps, 9 + 19, 9 + 13."""
    monkeypatch.setattr("screens.widgets.tab_line.tone", lambda widget, name: Style())
    monkeypatch.setattr(TabLine, "content_size", Size(width, 1))
    tabs = TabLine(TABS)
    tabs.count("cases", "300")
    tabs.count("results", "1,024")
    tabs.set_reactive(TabLine.active, 1)  # pyright: ignore[reportArgumentType]
    assert tabs.render().plain == line


class LineApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.chosen: list[str] = []

    def compose(self) -> ComposeResult:
        yield TabLine(TABS)
        yield TabLine(TABS, hint="1 the next kind")

    @on(TabLine.Chosen)
    def _chosen(self, message: TabLine.Chosen) -> None:
        self.chosen.append(message.tab.id)


async def test_a_click_chooses_the_tab_under_it() -> None:
    """After a cell of room the first takes 9, a gap, then the second; the hint is none."""
    app = LineApp()
    async with app.run_test(size=(80, 24)) as pilot:
        first, second = app.query(TabLine)
        assert second.render().plain == " Cases   Results    1 the next kind"
        for line, x in (
            (first, 1),
            (first, 9),
            (first, 10),
            (first, 11),
            (first, 40),
            (second, 9),
            (second, 30),
        ):
            await pilot.click(line, offset=(x, 0))
        await pilot.pause()
    assert app.chosen == ["cases", "cases", "results", "results"]


def test_the_active_tab_is_picked_out_and_the_keys_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    name_tones(monkeypatch, "widgets.tab_line")
    monkeypatch.setattr(TabLine, "content_size", Size(60, 1))
    active, key = "tab-line--active", "tab-line--key"
    assert parts(TabLine([*TABS, Tab("training", "Training")]).render()) == [
        (" 1 Cases ", active), (" ", ""), (" 2", key), (" Results  ", ""), (" 3", key), (" Training  ", ""),
    ]  # fmt: skip
    kinds = TabLine(TABS, hint="1 the next kind")
    kinds.set_reactive(TabLine.active, 1)  # pyright: ignore[reportArgumentType]
    assert parts(kinds.render()) == [(" Cases  ", ""), (" Results ", active), ("   1 the next kind", "")]


def test_a_count_is_drawn_again_only_where_it_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    monkeypatch.setattr(TabLine, "refresh", lambda self, *args, **kwargs: drawn.append(1))
    line = TabLine(TABS)
    drawn.clear()
    seen = []
    for count in ("1", "1", "2"):
        line.count("cases", count)
        seen.append(len(drawn))
    assert seen == [1, 1, 2]
