"""With which of its weights a run's sampler is loaded."""

from __future__ import annotations

from typing import Any

import pytest

from engine.gflownet.training.trained_sampler import _kept
from tests.engine.gflownet.small_run import small_config

BEST = {"weights": {"a": 1}, "at": 20}


@pytest.mark.parametrize(
    ("restore", "best", "kept"),
    [
        (True, BEST, ({"a": 1}, 20)),
        (False, BEST, ({"a": 2}, 40)),
        (True, {"weights": {}, "at": 0}, ({"a": 2}, 40)),
        (True, None, ({"a": 2}, 40)),
    ],
    ids=["the best", "the last are wanted", "never evaluated", "of an older program"],
)
def test_the_best_weights_are_kept_where_there_are_some(
    restore: bool, best: dict[str, Any] | None, kept: tuple[dict[str, int], int]
) -> None:
    config = small_config(gflownet={"early_stopping": {"restore_best": restore}})
    state = {"module": {"a": 2}, "step": 40} | ({} if best is None else {"best": best})
    assert _kept(state, config) == kept
