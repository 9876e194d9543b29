"""The kinds of cases of one tab: which is shown, which comes next, and what a click asks for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from textual.widget import Widget

from screens.panes.cases_tab import CasesTab
from screens.widgets.tab_line import TabLine

KINDS = ["decisions", "pairs", "entries"]


def tab_of(shown: str) -> Any:
    """A tab of three kinds that shows one of them, and notes what it asks for."""
    tab: Any = CasesTab([Widget(id=name) for name in KINDS])
    asked: list[str] = []
    return SimpleNamespace(
        names=tab.names, shown_name=shown, _panes=tab._panes, KindRequested=CasesTab.KindRequested, asked=asked,
        post_message=lambda message: asked.append(message.name),
    )  # fmt: skip


@pytest.mark.parametrize("index", range(3))
def test_a_click_asks_for_the_kind_under_it(index: int) -> None:
    tab, message = tab_of("decisions"), TabLine.Chosen(index)
    CasesTab._clicked(tab, message)
    assert tab.asked == [KINDS[index]]


@pytest.mark.parametrize(("shown", "following"), [("decisions", "pairs"), ("entries", "decisions")])
def test_the_next_kind_goes_round(shown: str, following: str) -> None:
    tab, properties = tab_of(shown), vars(CasesTab)
    assert properties["next_name"].fget(tab) == following
    assert properties["shown"].fget(tab).id == shown
