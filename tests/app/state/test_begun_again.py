"""A stage that is begun again is folded anew: nothing of an earlier attempt is mixed with what it does now."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from app.state.columns import AppendOnlyList, Columns, Names, Texts
from app.state.method import MethodState
from app.state.run import RunState, method_states
from app.wording.verdict_text import verdict_line, verdict_sentence, verdicts
from engine import events as ev
from engine.run.stage_state import SKIPPED, WAITING
from tests.runs_app import esm_verdict
from tests.synthetic_evolution import evolution_events
from tests.synthetic_gflownet import gflownet_events
from tests.synthetic_pool import pool_events
from tests.synthetic_run import SyntheticRun
from tests.synthetic_slsm import slsm_events

METHODS = {
    "esm": lambda: SyntheticRun(examples=6).events(),
    "evolution": evolution_events,
    "gflownet": gflownet_events,
    "slsm": slsm_events,
    "pool": pool_events,
}


def whole(value: object) -> object:
    """Everything that a state holds, comparable."""
    if isinstance(value, MethodState):
        return {name: whole(below) for name, below in vars(value).items()}
    if isinstance(value, Columns):
        return [[repr(figure) for figure in value.column(name)[: len(value)]] for name in value.TYPES]
    if isinstance(value, AppendOnlyList):
        return [repr(item) for item in value]
    if isinstance(value, Names | Texts):
        return None
    if isinstance(value, dict):
        return [(key, whole(below)) for key, below in value.items()]
    return repr(value)


def folded(events: Iterable[ev.Event]) -> RunState:
    state = RunState()
    for event in events:
        state.apply(event, event.seq, 1)
    return state


@pytest.mark.parametrize("method", METHODS)
def test_a_second_attempt_is_folded_as_if_there_had_been_no_first(method: str) -> None:
    once = [event for event in METHODS[method]() if not isinstance(event, ev.Header)]
    stages = [stage for stage in method_states()[method].stages_shown if stage != "serve"]
    again = [ev.StageBegunAgain(stage=stage, kept="earlier/1") for stage in stages]
    single, double = folded(once), folded([*once, *again, *once])
    assert whole(getattr(double, method)) == whole(getattr(single, method))
    assert whole(getattr(folded([*once, *again]), method)) != whole(getattr(single, method))


def test_answers_that_are_sampled_again_are_counted_alone() -> None:
    """Of two right ones and a wrong one in the first attempt, the second has sampled only the wrong one so far. Another
    stage that is begun again leaves them alone."""
    first, wrong, last = (
        ev.RolloutEnded(example="a", draw=draw, correct=draw != 1, reward=1.0, tokens=7, segments=3)
        for draw in range(3)
    )
    again = ev.StageBegunAgain(stage="mine", kept="earlier/1")
    once, twice = folded([first, wrong, last]).esm, folded([first, wrong, last, again, wrong]).esm
    assert [(state.rollouts_right, len(state.rollouts)) for state in (once, twice)] == [(2, 3), (0, 1)]
    other = folded([first, wrong, last, ev.StageBegunAgain(stage="eval", kept="earlier/1")]).esm
    assert len(other.rollouts) == 3


def test_a_library_that_is_picked_again_has_nothing_of_the_one_before() -> None:
    events = list(METHODS["esm"]())
    state = folded([*events, ev.StageBegunAgain(stage="select", kept="earlier/1")]).esm
    before = folded(events).esm
    assert len(before.picks) > len(state.picks) == 0 and len(state.pairs) == len(before.pairs) > 0


@pytest.mark.parametrize("method", METHODS)
def test_begun_again_stages_leave_the_others_alone(method: str) -> None:
    """Each stage forgets fields of its own, and all of them together forget all fields but those of all stages."""
    kind = method_states()[method]
    forgotten: list[str] = []
    for stage in kind.stages_shown:
        state = kind()
        for name in vars(state):
            setattr(state, name, "kept")
        state.forget(stage)
        forgotten += [name for name, value in vars(state).items() if value != "kept"]
    shared = kind.fields_of_stage.get("", ())
    assert sorted(forgotten) == sorted(vars(kind()).keys() - set(shared))


@pytest.mark.parametrize(
    ("method", "stage", "forgotten"),
    [
        ("evolution", "clusters", {"clusters"}), ("gflownet", "graphs", {"graphs"}),
        ("gflownet", "retriever", {"epochs", "recall"}), ("gflownet", "agent-graphs", {"agent_graphs"}),
        ("gflownet", "gflownet", {"steps", "evaluated", "questions"}), ("gflownet", "answer", {"answers", "compared"}),
    ],
)  # fmt: skip
def test_a_stage_begun_again_forgets_what_it_reported_itself(
    method: str, stage: str, forgotten: set[str]
) -> None:
    """The unchanged model's score belongs to the evolution, the recall to the retriever that was trained."""
    events = list(METHODS[method]())
    before = getattr(folded(events), method)
    after = getattr(folded([*events, ev.StageBegunAgain(stage=stage, kept="earlier/1")]), method)
    changed = {name for name, value in vars(after).items() if whole(value) != whole(getattr(before, name))}
    assert changed == forgotten


def test_esm_decisions_of_two_attempts_are_never_added() -> None:
    events = [event for event in SyntheticRun(examples=6).events() if event.stage == "eval"]
    decisions = sum(isinstance(event, ev.DecisionTaken) for event in events)
    state = folded([*events, ev.StageBegunAgain(stage="eval", kept="earlier/1"), *events[: len(events) // 2]])
    half = sum(isinstance(event, ev.DecisionTaken) for event in events[: len(events) // 2])
    assert len(state.esm.decisions) == half < decisions


def test_stages_are_stale_until_they_begin_again() -> None:
    finished = [
        ev.StageFinished(
            stage=name, seconds=4.0, summary={"n": 1}, verdict=esm_verdict(0.9) if name == "eval" else None
        )
        for name in ("mine", "select", "memory", "eval")
    ]
    header = ev.Header(
        schema_version=1, name="r", run_id="1", seed=0, stages=["mine", "select", "memory", "eval"]
    )
    plan = ev.StagesChosen(stale=["memory", "eval"], kept="earlier/1")
    state = folded([header, *finished, plan, plan])
    assert [stage.stale for stage in state.stages.values()] == [False, False, True, True]
    waiting = state.stages["eval"]
    assert (waiting.status, waiting.fraction, waiting.seconds, waiting.summary) == (
        WAITING,
        0.0,
        4.0,
        {"n": 1},
    )
    (verdict,) = verdicts(state.stages)
    assert verdict_line(verdict) == "greedy 63.5% → 90.0%  ◌ +26.5 [21, 33] (stale)"
    assert verdict_sentence(verdict).startswith("Stale, of an earlier attempt: ESM answers 90.0% of 200")
    state.apply(ev.StageBegunAgain(stage="memory", kept="earlier/1"))
    state.apply(ev.StageFinished(stage="memory", seconds=1.0))
    assert not state.stages["memory"].stale and state.stages["eval"].stale
    state.apply(ev.StageBegunAgain(stage="eval", kept="earlier/1"))
    assert not verdicts(state.stages) and state.stages["eval"].summary == {}
    state.apply(ev.StageFinished(stage="eval", seconds=1.0, verdict=esm_verdict(0.8)))
    assert verdict_line(verdicts(state.stages)[0]) == "greedy 63.5% → 80.0%  ▲ +16.5 [11, 23]"


def test_a_run_with_work_left_is_no_longer_finished() -> None:
    header = ev.Header(schema_version=1, name="r", run_id="1", seed=0, stages=["mine", "select"])
    done = [ev.StageFinished(stage=name, seconds=1.0) for name in ("mine", "select")]
    ended = [header, *done, ev.WorkerStopped(status="finished")]
    assert folded([*ended, ev.StagesChosen(stale=["select"], kept="earlier/1")]).status == "stopped"
    skipped = ev.StagesChosen(stale=["select"], skipped=["select"], kept="earlier/1")
    assert folded([*ended, skipped]).status == "finished"
    failed = [header, ev.StageFailed(stage="select", what="no data"), ev.WorkerStopped(status="failed")]
    state = folded([*failed, ev.StagesChosen(skipped=["select"])])
    assert state.status == "stopped" and state.failure is None


def test_skipped_stages_wait_again_when_that_is_taken_back() -> None:
    header = ev.Header(schema_version=1, name="r", run_id="1", seed=0, stages=["mine", "select"])
    failed = ev.StageFailed(stage="select", what="no data")
    state = folded([header, failed, ev.StagesChosen(skipped=["select"])])
    assert (state.stages["select"].status, state.stages["select"].error) == (SKIPPED, None)
    assert state.stages["select"].fraction == 1.0 and state.stages["mine"].status == WAITING
    state.apply(ev.StagesChosen())
    assert state.stages["select"].status == WAITING


def test_an_event_of_the_choices_is_read_back() -> None:
    for event in (
        ev.StagesChosen(stale=["eval"], skipped=["slsm"], kept="earlier/2"),
        ev.StageBegunAgain(kept="earlier/2"),
    ):
        assert ev.decode(ev.encode(msgspec.structs.replace(event, seq=3))) == msgspec.structs.replace(
            event, seq=3
        )
