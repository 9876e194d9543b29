"""How far stages are, folded from the events of workers that finish, stop or are killed."""

from __future__ import annotations

import pytest

from engine import events as ev
from engine.events import decode
from engine.run.stage_state import Stages, fold_stages

NAMES = ["mine", "select"]
HEADER = ev.Header(schema_version=1, name="run", run_id="1", seed=0, stages=NAMES)
FIRST, SECOND = (ev.WorkerStarted(pid=1, attempt=attempt, stages=NAMES) for attempt in (1, 2))
BEGIN = ev.StageStarted(stage="mine", total=10, done=2, unit="examples", time=5.0)
HALF = ev.StageProgress(stage="mine", done=6, total=10, tokens=80, elapsed=4.0)


def folded(*events: ev.Event) -> Stages:
    stages: Stages = {}
    for event in events:
        fold_stages(stages, event)
    return stages


def test_a_stage_at_work_has_a_pace_of_this_attempt() -> None:
    mine = folded(HEADER, FIRST, BEGIN, HALF)["mine"]
    assert (mine.status, mine.done, mine.total, mine.unit) == ("running", 6, 10, "examples")
    assert (mine.items_per_second, mine.tokens_per_second, mine.eta) == (1.0, 20.0, 4.0)


@pytest.mark.parametrize(
    "last",
    [
        [],
        [ev.StagePaused(stage="mine")],
        [ev.StageStopped(stage="mine", done=6, texts=2, tokens=9, kept=True)],
        [ev.StageFailed(stage="mine", what="no such column")],
    ],
    ids=["killed", "killed while paused", "stopped", "failed"],
)
def test_what_a_worker_left_waits_for_the_next(last: list[ev.Event]) -> None:
    """Nobody works on it any more, and its error no longer stands; what is done stays done."""
    mine = folded(HEADER, FIRST, BEGIN, HALF, *last, SECOND)["mine"]
    assert (mine.status, mine.done, mine.error, mine.stop) == ("waiting", 6, None, None)


@pytest.mark.parametrize("name", ["StageFinishedBefore", "StageSkipped"])
def test_a_finished_stage_stays_finished(name: str) -> None:
    """Also in an older log, which calls that skipped: no user skipped it."""
    before = decode(f'{{"type":"{name}","seq":9,"time":1.0,"stage":"mine"}}'.encode())
    assert isinstance(before, ev.Event)
    assert folded(HEADER, SECOND, before)["mine"].status == "finished"
    end = ev.StageFinished(stage="mine", seconds=9.0, summary={"pairs": 3}, files=["a"])
    stages = folded(HEADER, FIRST, BEGIN, end, SECOND, before)
    assert stages["mine"].status == "finished" and stages["mine"].fraction == 1.0
    assert stages["select"].status == "waiting"


def test_a_pause_ends_with_work() -> None:
    paused = folded(HEADER, FIRST, BEGIN, ev.StagePaused(stage="mine"))
    assert paused["mine"].status == "paused" and paused["mine"].active
    fold_stages(paused, ev.StageResumed(stage="mine"))
    assert paused["mine"].status == "running"


def test_what_a_model_writes_is_shown_until_the_next_result() -> None:
    working = ev.ModelWorking(stage="mine", sequences=8, done=3, tokens=90, tokens_per_second=30.0, text="so")
    assert folded(HEADER, FIRST, BEGIN, working)["mine"].working is working
    assert folded(HEADER, FIRST, BEGIN, working, HALF)["mine"].working is None
    assert (
        folded(HEADER, FIRST, BEGIN, working, ev.StageFinished(stage="mine", seconds=1))["mine"].working
        is None
    )


def test_a_stop_says_how_far_it_came() -> None:
    """Further than the last report, which may be a second old."""
    mine = folded(HEADER, FIRST, BEGIN, HALF, ev.StageStopped(stage="mine", done=7))["mine"]
    assert (mine.status, mine.done, mine.fraction) == ("stopped", 7, 0.7)
