"""The stage strip always shows the stage at work; the small curve stays in its cells."""

from __future__ import annotations

import pytest

from screens.widgets.stretch import visible


@pytest.mark.parametrize("current", range(14))
@pytest.mark.parametrize("room", [5, 30, 76, 500])
def test_the_current_stage_is_always_visible(current: int, room: int) -> None:
    widths = [7, 9, 9, 7, 11, 9, 9, 12, 15, 11, 9, 7, 7, 11]
    first, last = visible(widths, current, room)
    assert first <= current < last
    if sum(widths[first:last]) > widths[current]:
        assert sum(widths[first:last]) + 4 * (room < sum(widths)) <= room
    assert (first, last) == (0, 14) or room < sum(widths)
