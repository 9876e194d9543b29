"""What is kept of a tab that is left."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from textual.widget import Widget

from screens.tab_views import view_of
from screens.widgets.tables.virtual_table import VirtualTable


@pytest.mark.parametrize(
    ("follow", "over", "kept"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_a_table_is_followed_again_only_while_there_is_something_to_follow(
    follow: bool, over: bool, kept: bool
) -> None:
    table = SimpleNamespace(selected_key=7, follow=follow, sort_column="net", sort_reverse=True)
    pane: Any = SimpleNamespace(query=lambda kind: [table] if kind is VirtualTable else [])
    view = view_of(cast(Widget, pane), over)
    assert view is not None and (view.key, view.follow, view.sort, view.filter) == (
        7,
        kept,
        ("net", True),
        "",
    )
