"""How far stages are, folded from the events of workers that finish, stop or are killed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine import events as ev
from engine.events import decode
from engine.run.stage_state import Stages, StageState, fold_stages

NAMES = ["mine", "select"]
HEADER = ev.Header(schema_version=1, name="run", run_id="1", seed=0, stages=NAMES)
FIRST, SECOND = (ev.WorkerStarted(pid=1, attempt=attempt, stages=NAMES) for attempt in (1, 2))
BEGIN = ev.StageStarted(stage="mine", total=10, done=2, unit="examples", time=5.0)
HALF = ev.StageProgress(stage="mine", done=6, total=10, tokens=80, elapsed=4.0, note="esm")


def folded(*events: ev.Event) -> Stages:
    stages: Stages = {}
    for event in events:
        fold_stages(stages, event)
    return stages


def test_a_stage_at_work_has_a_pace_of_this_attempt() -> None:
    """Four of eight new items in four seconds; its second attempt begins with what is there."""
    mine = folded(HEADER, FIRST, BEGIN, HALF)["mine"]
    assert mine == StageState(
        "mine",
        "running",
        done=6,
        total=10,
        unit="examples",
        begun_at=2,
        tokens=80,
        elapsed=4.0,
        note="esm",
        started=5.0,
    )  # fmt: skip
    assert (mine.items_per_second, mine.tokens_per_second, mine.eta, mine.fraction) == (1.0, 20.0, 4.0, 0.6)
    again = ev.StageStarted(stage="mine", total=10, done=6, unit="examples", time=50.0)
    mine = folded(HEADER, FIRST, BEGIN, HALF, SECOND, again)["mine"]
    assert mine == StageState("mine", "running", done=6, total=10, unit="examples", begun_at=6, started=50.0)
    assert (mine.items_per_second, mine.tokens_per_second, mine.eta) == (None, None, None)
    whole = replace(mine, done=10, elapsed=1.0)
    assert (whole.items_per_second, whole.eta) == (4.0, None), "nothing is left"
    assert replace(whole, done=12).fraction == 1.0 and StageState("eval", done=3).fraction == 0.0


def test_what_a_stage_has_reached_stays_where_it_is_to_be_done_again() -> None:
    """Stale until it begins again; a skip is taken back."""
    verdict = ev.Verdict(
        method="esm", baseline="greedy", metric="accuracy", items="problems", n=2, value=0.5, baseline_value=0.0,
        difference=0.5, low=0.0, high=1.0,
    )  # fmt: skip
    end = ev.StageFinished(stage="mine", seconds=9.0, summary={"pairs": 3}, files=["a", "b"], verdict=verdict)
    reached = {"seconds": 9.0, "summary": {"pairs": 3}, "files": ("a", "b"), "verdict": verdict}
    stages = folded(HEADER, FIRST, BEGIN, HALF, end)
    assert stages["mine"] == StageState(
        "mine",
        "finished",
        done=6,
        total=10,
        unit="examples",
        begun_at=2,
        tokens=80,
        elapsed=4.0,
        started=5.0,
        **reached,
    )
    assert not stages["mine"].active and stages["mine"].eta is None
    fold_stages(stages, ev.StagesChosen(stale=["mine"], skipped=["select"], kept="earlier/1"))
    assert stages["mine"] == StageState("mine", stale=True, **reached)
    assert stages["select"] == StageState("select", "skipped") and stages["select"].fraction == 1.0
    fold_stages(stages, ev.StagesChosen(stale=["mine"]))
    assert [stage.status for stage in stages.values()] == ["waiting", "waiting"]
    fold_stages(stages, ev.StageBegunAgain(stage="mine", kept="earlier/1"))
    assert stages["mine"] == StageState("mine")


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


def test_a_pause_between_two_stages_leaves_the_finished_one_finished() -> None:
    """It is logged with the stage that is over."""
    end = ev.StageFinished(stage="mine", seconds=9.0)
    stages = folded(HEADER, FIRST, BEGIN, end, ev.StagePaused(stage="mine"))
    assert stages["mine"].status == "finished"
    fold_stages(stages, ev.StageResumed(stage="mine"))
    fold_stages(stages, ev.WorkerStopped(status="finished"))
    assert stages["mine"].status == "finished"


def test_what_a_model_writes_is_shown_until_the_next_result() -> None:
    working = ev.ModelWorking(stage="mine", sequences=8, done=3, tokens=90, tokens_per_second=30.0, text="so")
    assert folded(HEADER, FIRST, BEGIN, working)["mine"].working is working
    assert folded(HEADER, FIRST, BEGIN, working, HALF)["mine"].working is None
    assert (
        folded(HEADER, FIRST, BEGIN, working, ev.StageFinished(stage="mine", seconds=1))["mine"].working
        is None
    )


@pytest.mark.parametrize(("role", "done", "shown"), [("", 8, True), ("judge", 7, True), ("judge", 8, False)])
def test_a_servers_answers_are_shown_until_all_have_come(role: str, done: int, shown: bool) -> None:
    """A model's own call ends with its result."""
    working = ev.ModelWorking(
        stage="mine", sequences=8, done=done, tokens=90, tokens_per_second=30.0, role=role
    )
    assert (folded(HEADER, FIRST, BEGIN, working)["mine"].working is working) == shown


def test_a_stop_says_how_far_it_came() -> None:
    """Further than the last report, which may be a second old."""
    mine = folded(HEADER, FIRST, BEGIN, HALF, ev.StageStopped(stage="mine", done=7))["mine"]
    assert (mine.status, mine.done, mine.fraction) == ("stopped", 7, 0.7)
