"""The hints of a comparison name the keys that do it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from app.keys.commands import COMPARE
from screens.compare.words import about_items


def test_the_hint_names_the_key_of_other_items() -> None:
    arm: Any = SimpleNamespace(a=SimpleNamespace(system="ESM", name="greedy"))
    text = about_items(arm, None, 12).plain
    assert text == "ESM greedy: all items, 12 items. v shows others."
    assert any(command.key == "v" for command in COMPARE)


@pytest.mark.parametrize(
    ("cell", "kind"),
    [(None, "all items"), (0, "both right"), (1, "only A right"), (2, "only B right"), (3, "neither right")],
)
def test_which_items_are_listed(cell: int | None, kind: str) -> None:
    arm: Any = SimpleNamespace(a=SimpleNamespace(system="ESM", name="greedy"))
    assert about_items(arm, cell, 1).plain == f"ESM greedy: {kind}, 1 item. v shows others."
