"""Which items are given again after replicas have died. No cluster runs."""

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import RunError
from engine.scale.replicas import LostItem
from engine.scale.spread import _Spreading


def test_an_item_that_only_waited_at_replicas_that_died_is_not_blamed() -> None:
    """Number 7 waits again and again behind one that kills; itself it is at work only in the last five deaths."""
    nobody: Any = None
    spreading = _Spreading(nobody, [], nobody)

    def dies(started: bool) -> None:
        spreading._take_back([LostItem(7, "seven", started)])
        assert spreading.waiting.popleft() == (7, "seven"), "it is given again"

    for started in [False] * 9 + [True] * 4:
        dies(started)
    with pytest.raises(RunError, match=r"5 replicas died, one after the other, on the same item .number 7"):
        dies(started=True)
