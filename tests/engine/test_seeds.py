"""Draws by what they are for: the order of a training's items."""

from __future__ import annotations

import pytest

from engine.seeds import derive_seed, epoch_items


@pytest.mark.parametrize("size", [3, 5, 9])
def test_every_item_comes_once_an_epoch_in_another_order_each_time(size: int) -> None:
    """Also where a step reaches over the end of an epoch, and where there are fewer items than a step takes."""

    def epochs(run_seed: int, stage: str = "training") -> list[list[int]]:
        steps = [epoch_items(run_seed, stage, 5, size, step) for step in range(20)]
        assert {len(step) for step in steps} == {min(size, 5)}
        places = [item for step in steps for item in step]
        return [places[first : first + 5] for first in range(0, 60, 5)]

    drawn = epochs(0)
    assert all(sorted(epoch) == list(range(5)) for epoch in drawn)
    assert len({tuple(epoch) for epoch in drawn}) > 6
    assert epochs(0) == drawn != epochs(1)
    assert epochs(0, "another") != drawn


def test_a_seed_is_the_same_in_every_version() -> None:
    """Half of the first eight bytes of the names' BLAKE2b: a run that goes on under another version draws as before."""
    assert derive_seed(7, "mine", "q1", 2) == 1252546725592187617
    assert derive_seed(0, "slsm", "chat") == 5515946853081125727
