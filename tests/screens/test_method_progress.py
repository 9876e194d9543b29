"""How far a method is, as the header says it."""

from __future__ import annotations

import pytest

from engine.run.stage_state import FINISHED, RUNNING, WAITING, StageState
from screens.method_progress import progress_of


@pytest.mark.parametrize(
    ("status", "done", "said"),
    [
        (WAITING, 0, "◐"),
        (RUNNING, 0, "▶ 50%"),
        (RUNNING, 30, "▶ 80%"),
        (RUNNING, 50, "▶ 99%"),
        (FINISHED, 50, "✓"),
    ],
)
def test_a_method_is_all_done_when_its_stages_are_finished(status: str, done: int, said: str) -> None:
    stages = [
        StageState("clusters", status=FINISHED),
        StageState("evolve", status=status, done=done, total=50),
    ]
    (method,) = progress_of(stages)
    assert method.short == said
