"""How far a method is, as the header says it."""

from __future__ import annotations

import pytest

from engine.run.stage_state import FINISHED, RUNNING, WAITING, StageState
from screens.method_progress import progress_of
from screens.overview.card_content import state_words


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


def test_a_stage_that_an_earlier_worker_left_half_done() -> None:
    """A new worker is loading: 187 of 200 problems are there, so the method has begun."""
    stages = [StageState("mine"), StageState("eval", done=187, total=200, unit="problems")]
    (method,) = progress_of(stages)
    assert (method.short, method.fraction) == ("◐", pytest.approx(187 / 400))
    assert state_words(method) == "eval: answers the test problems, 187 of 200 problems"


def test_what_is_stale_counts_before_what_is_half_done() -> None:
    (method,) = progress_of([StageState("mine", stale=True), StageState("eval", done=187, total=200)])
    assert (method.short, method.now) == ("◌", None)


def test_a_finished_method_took_as_long_as_all_its_stages() -> None:
    stages = [
        StageState(name, status=FINISHED, seconds=seconds) for name, seconds in (("mine", 60), ("eval", 30))
    ]
    (method,) = progress_of(stages)
    assert state_words(method) == "finished in 1:30"
