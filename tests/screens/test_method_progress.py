"""How far a method is, as the header says it."""

from __future__ import annotations

import pytest

from engine.events import StageFailed
from engine.run.stage_state import FAILED, FINISHED, PAUSED, RUNNING, SKIPPED, STOPPED, WAITING, StageState
from screens.method_progress import active_method, progress_of
from screens.overview.card_content import state_words


@pytest.mark.parametrize(
    ("status", "done", "said"),
    [
        (WAITING, 0, "◐"),
        (RUNNING, 0, "▶ 2/2 0%"),
        (RUNNING, 30, "▶ 2/2 60%"),
        (RUNNING, 50, "▶ 2/2 99%"),
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
    assert method.short == "◐"
    assert state_words(method) == "eval: answers the test problems, 187 of 200 problems"


def test_a_stage_of_another_method_counts_where_none_of_its_own_is_there() -> None:
    """The server works with ESM's memory."""
    own, other = StageState("eval", status=FINISHED, seconds=30), StageState("serve", status=RUNNING)
    assert next(m.shown for m in progress_of([own, other]) if m.name == "ESM") == (own,)
    assert next(m.shown for m in progress_of([other]) if m.name == "ESM") == (other,)


def test_what_is_stale_counts_before_what_is_half_done() -> None:
    (method,) = progress_of([StageState("mine", stale=True), StageState("eval", done=187, total=200)])
    assert (method.short, method.now) == ("◌", None)


def test_a_finished_method_took_as_long_as_all_its_stages() -> None:
    stages = [
        StageState(name, status=FINISHED, seconds=seconds) for name, seconds in (("mine", 60), ("eval", 30))
    ]
    (method,) = progress_of(stages)
    assert state_words(method) == "finished in 1:30"


ERROR = StageFailed(what="no disk")
MINE, EVAL = "mine: collects right and wrong answers", "eval: answers the test problems"


@pytest.mark.parametrize(
    ("stages", "short", "words"),
    [
        ([("mine", WAITING, 0), ("eval", WAITING, 0)], "○", "has not started"),
        ([("mine", FINISHED, 4), ("eval", WAITING, 0)], "◐", "more stages follow"),
        ([("mine", FINISHED, 4), ("eval", RUNNING, 1)], "▶ 2/2 25%", f"{EVAL}, 1 of 4 problems, 0:30 left"),
        ([("mine", RUNNING, 0), ("eval", WAITING, 0)], "▶ 1/2 0%", f"{MINE}, 0 of 4 problems"),
        ([("mine", PAUSED, 2), ("eval", WAITING, 0)], "‖ 1/2 50%", f"{MINE}, 2 of 4 problems, 0:10 left"),
        ([("mine", FINISHED, 4), ("eval", FAILED, 2)], "✗", f"{EVAL}: failed: no disk"),
        ([("mine", STOPPED, 2), ("eval", WAITING, 0)], "■", f"{MINE}: stopped, 2 of 4 problems are kept"),
        ([("mine", FINISHED, 4), ("eval", SKIPPED, 0)], "✓", "skipped: eval"),
        ([("mine", SKIPPED, 0), ("eval", SKIPPED, 0)], "⊘", "skipped: mine and eval"),
        ([("mine", FAILED, 2), ("eval", RUNNING, 2)], "✗", f"{MINE}: failed: no disk"),
    ],
)  # fmt: skip
def test_what_a_method_does_in_a_sign_and_in_words(
    stages: list[tuple[str, str, int]], short: str, words: str
) -> None:
    """Two stages of four problems, each worked on for ten seconds; of the failed one only is there an error."""
    shown = [
        StageState(
            name, status=status, done=done, total=4, unit="problems", elapsed=10.0,
            error=ERROR if status == FAILED else None,
        )
        for name, status, done in stages
    ]  # fmt: skip
    (method,) = progress_of(shown)
    assert (method.short, state_words(method)) == (short, words)


def test_a_server_has_no_share_and_what_is_stale_is_named() -> None:
    methods = progress_of([StageState("serve", status=RUNNING, done=3, unit="requests")])
    (server,) = (method for method in methods if method.name == "Server")
    assert (server.short, state_words(server)) == ("▶", "serve: answers requests, 3 requests so far")
    stale = [
        StageState("mine", stale=True),
        StageState("select", stale=True),
        StageState("eval", status=SKIPPED),
    ]
    (method,) = progress_of(stale)
    assert (method.short, state_words(method)) == ("◌", "stale: mine and select; skipped: eval")


def test_the_method_at_work() -> None:
    """The first of those whose stage runs or is paused."""
    mine, graphs = StageState("mine", status=STOPPED), StageState("graphs", status=PAUSED)
    assert active_method([mine, graphs]) == "GFlowNet" and active_method([mine]) is None
    assert active_method([StageState("mine", status=RUNNING), graphs]) == "ESM"
