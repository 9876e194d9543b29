"""The line of tabs: the number of each is the key that shows it."""

from __future__ import annotations

from screens.widgets.tab_line import Tab, TabLine

TABS = [Tab("cases", "Cases"), Tab("results", "Results")]


def test_tabs_are_numbered_from_one_where_numbers_are_their_keys() -> None:
    line = TabLine(TABS)
    assert [line._label(at, True) for at in range(2)] == [" 1 Cases ", " 2 Results "]
    line._counts["results"] = "1,024"
    assert line._label(1, True) == " 2 Results 1,024 " and line._label(1, False) == " 2 Results "
    assert TabLine(TABS, hint="1 the next kind")._label(1, True) == " Results "
