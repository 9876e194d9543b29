"""What lists keep of an event: each figure another one, so that none stands in another's place."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from app.state.columns import AppendOnlyList
from app.state.event_index import EventIndex
from app.state.evolution import EvolutionState
from app.state.pool import PickRow, is_right
from app.state.run import RunState
from app.state.serve import RequestRow
from app.state.slsm import Opened, StateAt
from engine import events as ev
from engine.run.event_log import LogPlace
from tests.synthetic_pool import pool_events


def folded(*events: ev.Event) -> RunState:
    """Each event stands ten bytes behind the one before it, and is as long as its number."""
    state = RunState()
    for at, event in enumerate(events):
        state.apply(event, at * 10, at)
    return state


def path(count: int, *answers: str) -> ev.SampledPath:
    return ev.SampledPath(steps=[], count=count, probability=0.5, reward=1.0, answers=list(answers))


SAMPLED = ev.QuestionSampled(
    sample_id="q", question="who?", starts=[], answers=["a", "b", "c", "d"], nodes=7, edges=9, samples=20, log_z=0.0,
    temperature=1.0, prior_alpha=0.0, paths=[path(9), path(3, "a"), path(5, "a", "b"), path(3)],
)  # fmt: skip


def test_a_question_of_the_sampler() -> None:
    """3 + 5 of 20 draws meet an answer, two of four in all; the second path is the first that does."""
    [row] = folded(SAMPLED).gflownet.questions
    assert row == ("q", "who?", 4, 2, 0.4, 4, 2, 9, (0, 0))
    [row] = folded(replace(SAMPLED, samples=0, paths=[path(1)])).gflownet.questions
    assert (row.met, row.success, row.first_hit, row.unique) == (0, 0.0, None, 1)


def test_an_answer_from_evidence() -> None:
    answered = ev.EvidenceAnswered(
        sample_id="q", method="triples", question="who?", golds=["g"], answer="she", hit=True, recall=0.5, triples=3,
        prompt_tokens=4,
    )  # fmt: skip
    state = folded(SAMPLED, answered, replace(answered, method="gflownet", hit=False)).gflownet
    assert list(state.answers) == [
        ("q", "triples", "who?", "she", True, (10, 1)), ("q", "gflownet", "who?", "she", False, (20, 2)),
    ]  # fmt: skip


@pytest.mark.parametrize(("score", "right"), [(None, False), (0.999, False), (1 - 1e-9, True), (1.0, True)])
def test_an_answer_that_is_fully_right(score: float | None, right: bool) -> None:
    assert is_right(score) is right


def test_a_query_of_the_pool() -> None:
    done = next(event for event in pool_events() if isinstance(event, ev.PoolQueryDone))
    told = replace(
        done, query_id="q", question="what?", given_pool=64, oracle_before=0.25, oracle_after=0.75, injected=[1, 2, 3],
        failed=5, warning="short", trajectories=[],
    )  # fmt: skip
    asked = ev.PoolPairEvaluated(query_id="q", pair=(3, 4), score=0.5)
    other = ev.PoolPairEvaluated(query_id="r", pair=(5, 6), score=None)
    before = folded(asked, other).pool
    assert before.under_way == {"q": {(3, 4): 0.5}, "r": {(5, 6): None}}
    state = folded(asked, other, told).pool
    assert list(state.queries) == [("q", "what?", 64, 0.25, 0.75, 0, 0, 3, 0, 0, 5, "short", (20, 2))]
    assert list(state.under_way) == ["r"]


def test_picks_are_held_against_those_of_rices() -> None:
    """Of random the mean of its draws, without the one for which the model failed."""
    picks = [("selector", 0.75), ("rices", 0.5), ("random", 0.25), ("random", 1.0), ("random", None)]
    event = next(event for event in pool_events() if isinstance(event, ev.SelectorPicked))
    pick = event.picks[0]
    event = replace(event, query_id="q", question="what?", picks=[
        replace(pick, method=method, score=score) for method, score in picks
    ])  # fmt: skip
    [row] = folded(event).pool.picks
    assert row == ("q", "what?", 0.75, 0.5, 0.625, (0, 0))
    assert [row.sign(method) for method in ("selector", "rices", "random", "nobody")] == [1, 0, 1, 0]
    assert PickRow("q", "", 0.25, 0.5, None, LogPlace(0, 0)).sign("selector") == -1
    assert PickRow("q", "", 0.25, None, None, LogPlace(0, 0)).sign("selector") == 0


def test_an_answer_of_a_conversation() -> None:
    """The controller failed at one of three turns, and the detector, too."""
    opened = ev.ConversationOpened(conversation_id="c", axis="a", turns=[["x", "y"], ["z", "w"], ["v"]])
    updated = ev.StateUpdated(conversation_id="c", memory_mode="flat", turn=0, plan_mode="full")
    answered = ev.ConversationAnswered(
        conversation_id="c", axis="a", mode="always", memory_mode="flat", attempt=1, answer="yes", injected=True,
        reason="r", note_tokens=7, first_answer="no", detector_failure="silent", passed=False,
    )  # fmt: skip
    state = folded(
        opened, updated, replace(updated, turn=2, failure="no reply"), replace(updated, memory_mode="none", turn=1),
        answered,
    ).slsm  # fmt: skip
    [row] = state.results
    assert row == ("c", "a", "always", "flat", 1, False, True, True, 7, "yes", 3, 2, True, (40, 4))
    assert state.states_of(answered) == {
        0: StateAt(False, LogPlace(10, 1)),
        2: StateAt(True, LogPlace(20, 2)),
    }
    assert (state.failures, state.turns("c"), state.turns("d")) == (2, 3, 0)
    assert (state.place("c"), state.place("d")) == (LogPlace(0, 0), None)
    assert state.opened.find("c") == Opened(3, LogPlace(0, 0))
    other = replace(answered, mode="never", first_answer="", detector_failure="")
    [_, row] = folded(opened, answered, other).slsm.results
    assert (row.second, row.failures, row.undetected) == (False, 0, False)
    reminded = replace(answered, mode="remind_on_detection")
    assert folded(opened, answered, reminded).slsm.failures == 1, "both modes share the detection"
    structured = replace(answered, memory_mode="structured")
    assert folded(opened, answered, structured).slsm.failures == 2, "each memory is compared for itself"
    again = replace(answered, attempt=2)
    assert folded(opened, answered, again).slsm.failures == 2, "so is each attempt"


def test_a_score_of_a_mode_is_told_for_each_memory() -> None:
    """One that is told again stands for the one before it."""
    first = ev.ModeScored(
        mode="always", memory_mode="flat", n=4, judged=3, score=0.5, low=0.25, high=0.75, by_axis=[]
    )
    none, again = replace(first, memory_mode="none"), replace(first, score=0.625)
    assert folded(first, none, again).slsm.modes == {("always", "flat"): again, ("always", "none"): none}


def test_a_request_to_the_server() -> None:
    opened = ev.ServeOpened(url="u", model="m", key="k", levers=[])
    taken = ev.RequestTaken(
        request="r", kind="chat", levers=[], question="why?", prompt_tokens=11, waited=0.5, stream=True
    )
    answered = ev.RequestAnswered(
        request="r", outcome="failed", why="cut", finish="length", tokens=12, probe_tokens=13, first=0.25, seconds=1.5,
        segments=14, steered=3,
    )  # fmt: skip
    load = ev.ServeLoad(in_flight=1, waiting=2)
    state = folded(opened, load, taken, replace(taken, request="s")).serve
    assert list(state.flying) == ["r", "s"] and state.load == load
    state = folded(opened, load, taken, answered, replace(answered, request="t")).serve
    first, second = state.ended
    assert first == RequestRow(
        "r", "chat", "why?", 11, 0.5, "failed", "cut", "length", 12, 13, 0.25, 1.5, 14, 3, LogPlace(30, 3)
    )
    assert second[:5] == ("t", "", "", 0, 0.0), "the log does not have its beginning"
    again = folded(opened, load, taken, opened).serve
    assert again.flying == {} and again.load is None, "what an earlier worker was answering ended with it"


def judged(iteration: int, split: str, tokens: int, correct: bool | None = True) -> ev.AnswerJudged:
    return ev.AnswerJudged(
        iteration=iteration, split=split, example="q", question="why?", gold="g", answer="", tokens=tokens,
        correct=correct,
    )  # fmt: skip


def test_an_answer_of_the_evolution() -> None:
    """Held against the unchanged model's answer on the validation set, else on the test set."""
    plain = judged(0, "test_plain", 9, False)
    first = judged(0, "baseline", 7, False)
    answer = judged(2, "test", 4)
    rows = folded(plain, first, answer, judged(3, "test", 5, None)).evolution.answers
    assert rows[2] == (2, "test", "q", "why?", "g", 4, True, 1, -3, (20, 2))
    assert (rows[3].turned, rows[3].longer) == (0, -2) and (rows[0].turned, rows[0].longer) == (0, None)
    [_, row] = folded(plain, judged(1, "minibatch", 12, False)).evolution.answers
    assert (row.turned, row.longer) == (0, 3)
    [_, row] = folded(judged(0, "test_plain", 9, None), judged(1, "test", 9)).evolution.answers
    assert row.turned == 0, "whether the unchanged model was right cannot be told"


def scored(iteration: int, split: str, composite: float, best: bool = False) -> ev.AnswersScored:
    return ev.AnswersScored(
        iteration=iteration, split=split, answers=4, judged=4, correct=2, mean_tokens=9.0, shortness=0.5,
        correctness=0.5, composite=composite, best=best,
    )  # fmt: skip


def evolved(best_by: str, *events: ev.Event) -> EvolutionState:
    began = ev.EvolutionBegan(
        clusters=[], iterations=3, minibatch=4, validation=2, test=0, scale=1.0, weights=[0.4, 0.6], server="s",
        judge="j", reflector="r", best_by=best_by,
    )  # fmt: skip
    return folded(began, *events).evolution


def test_what_an_iteration_had_to_beat() -> None:
    """The best before it; no deltas before there is one, which minibatches have no figure of."""
    scores = [
        scored(0, "baseline", 0.4), scored(0, "minibatch", 0.5, True), scored(0, "validation", 0.45),
        scored(1, "minibatch", 0.6), scored(1, "validation", 0.55, True), scored(2, "validation", 0.5),
        scored(3, "test", 0.9), scored(4, "test_plain", 0.1),
    ]  # fmt: skip
    state = evolved("validation", *scores)
    assert [state.gain(n) for n in (0, 1, 2, 3, 7)] == [
        (0.4, "no deltas"), (0.45, "iteration 0"), (0.55, "iteration 1"), None, None,
    ]  # fmt: skip
    assert state.baseline is not None and state.baseline.composite == 0.4 and 4 not in state.iterations
    assert state.best is state.iterations[1] and state.decided_on == "the validation set"
    state = evolved("minibatch", *scores)
    assert [state.gain(n) for n in (0, 1, 2)] == [None, (0.5, "iteration 0"), None]
    assert state.decided_on == "its minibatch"


def test_what_the_server_does_belongs_to_the_iteration_that_is_under_way() -> None:
    """Once that is finished it stops for the whole run."""
    starts, stops = ev.ServerChanged(state="starting"), ev.ServerChanged(state="stopped")
    began, ended = ev.IterationBegan(iteration=0, deltas={}), ev.IterationFinished(iteration=0)
    state = evolved("minibatch", began, starts, ended, stops)
    assert state.server is not None and state.server.state == "stopped"
    item = state.iterations[0]
    assert item.server is not None and item.server.state == "starting" and item.finished


def test_what_the_run_knows_of_itself() -> None:
    def loaded(stage: str, name: str) -> ev.ModelLoaded:
        return ev.ModelLoaded(
            stage=stage, name=name, backend="b", device="cpu", dtype="float32", num_layers=1, hidden_size=2
        )

    state = folded(
        ev.Preparing(doing="reading", time=5.0), loaded("mine", "one"), loaded("eval", "two"), loaded("pool", "three"),
        ev.StageStarted(stage="mine", total=2), ev.StagePaused(stage="mine"),
        ev.StageFailed(stage="select", what="first"), ev.StageStarted(stage="eval", total=2),
        ev.StageFailed(stage="eval", what="second", time=9.0),
    )  # fmt: skip
    assert state.active_stage is not None and state.active_stage.name == "mine"
    assert [getattr(state.model_of(of), "name", "") for of in (["mine", "eval"], ["mine"], ["slsm"])] == [
        "two", "one", "",
    ]  # fmt: skip
    assert state.failure is not None and state.failure.what == "second"
    assert (state.time, state.preparing) == (9.0, "reading")
    state.apply(ev.StageFinished(seq=20, stage="pool", seconds=1.0, summary={}, files=[]))
    assert state.preparing == "", "at the end of a stage nothing is loaded for it any more"
    for event in (ev.WorkerStarted(pid=1, attempt=2, stages=[]), ev.WorkerStopped(status="failed")):
        state.loading, state.preparing = ev.ModelLoading(name="m"), "reading"
        state.apply(event)
        assert (state.loading, state.preparing) == (None, "")
    begun = [
        ev.StageStarted(stage="mine", total=2),
        ev.StageFinished(stage="mine", seconds=1.0, summary={}, files=[]),
        ev.StageStarted(stage="eval", total=2),
    ]
    active = [folded(*begun[:count]).active_stage for count in (1, 2, 3)]
    assert [stage and stage.name for stage in active] == ["mine", None, "eval"]
    new = RunState()
    assert new.active_stage is None and new.failure is None
    assert (new.status, new.seq, new.time, new.worked, new.unknown) == ("new", -1, 0.0, 0.0, 0)


def test_time_without_a_worker_does_not_count() -> None:
    """Killed at 30, stopped at 150: 20 s from the first worker's start at 10, and 50 s from the second's at 100."""
    header = ev.Header(schema_version=1, name="d", run_id="1", seed=0, stages=[], time=0.0)
    events = [
        header, ev.WorkerStarted(pid=1, attempt=1, stages=[], time=10.0), ev.Notice(text="killed", time=30.0),
        ev.WorkerStarted(pid=2, attempt=2, stages=[], time=100.0), ev.WorkerStopped(status="stopped", time=150.0),
        ev.StagesChosen(stale=[], skipped=[], time=900.0),
    ]  # fmt: skip
    assert folded(*events).worked == 70.0


def test_time_in_a_pause_does_not_count() -> None:
    """From 10 to 20, and from 50 to 60."""
    header = ev.Header(schema_version=1, name="d", run_id="1", seed=0, stages=["mine"], time=0.0)
    events = [
        header, ev.WorkerStarted(pid=1, attempt=1, stages=[], time=10.0), ev.StagePaused(stage="mine", time=20.0),
        ev.StageResumed(stage="mine", time=50.0), ev.WorkerStopped(status="stopped", time=60.0),
    ]  # fmt: skip
    assert folded(*events).worked == 20.0


@pytest.mark.parametrize(
    ("event", "kind", "text"),
    [
        (ev.StageStarted(stage="eval", total=2), "stage", "eval"),
        (ev.StagePaused(stage="eval"), "pause", "eval paused"),
        (ev.StageFailed(stage="eval", what="no room"), "failure", "no room"),
        (ev.Notice(text="so far"), "notice", "so far"),
        (ev.Notice(text="low", level="warning"), "warning", "low"),
        (ev.Notice(text="bad", level="error"), "warning", "bad"),
        (ev.WorkerStarted(pid=1, attempt=2, stages=[]), "worker", "resumed (attempt 2)"),
    ],
)
def test_a_mark_on_the_time_line(event: Any, kind: str, text: str) -> None:
    index = EventIndex()
    index.add(replace(event, seq=7, time=3.0))
    [mark] = index.marks
    assert (mark.seq, mark.kind, mark.text) == (7, kind, text)
    assert (len(index), index.began(), index.time_of(7), index.next_time(7)) == (1, 3.0, 3.0, None)
    index.add(ev.Notice(text="", seq=9, time=4.5))
    assert (index.next_time(7), index.step(7, 1), index.at_time(4.5), index.at_time(4.4)) == (4.5, 9, 9, 7)


def test_a_moment_before_the_first_event_is_that_of_the_first() -> None:
    """A log whose beginning cannot be read begins with event 5."""
    index = EventIndex()
    for seq, time in ((5, 100.0), (6, 101.0), (9, 130.0)):
        index.add(ev.Notice(text="", seq=seq, time=time))
    assert [index.time_of(seq) for seq in (0, 5, 7, 8, 9, 12)] == [100.0, 100.0, 101.0, 101.0, 130.0, 130.0]
    assert [index.at_time(time) for time in (1.0, 100.0, 101.0, 500.0)] == [5, 5, 6, 9]
    assert [index.step(seq, 1) for seq in (5, 6, 7, 8, 9)] == [6, 9, 9, 9, None], "7 and 8 are passed over"
    assert [index.step(seq, -1) for seq in (5, 6, 7, 8, 9)] == [None, 5, 6, 6, 6]
    assert (EventIndex().at_time(1.0), EventIndex().time_of(3), EventIndex().began()) == (0, 0.0, 0.0)


def test_a_list_that_only_grows_is_read_from_both_ends() -> None:
    rows: AppendOnlyList[str] = AppendOnlyList()
    for name in "abc":
        rows.append(name, key=name.upper())
    copy = rows.share()
    rows.append("d", key="D")
    assert (rows[0], rows[-1], rows[-4], rows[1:3], rows[::-1]) == (
        "a",
        "d",
        "a",
        ["b", "c"],
        ["d", "c", "b", "a"],
    )
    assert (len(copy), copy[-1], copy[:], list(copy)) == (3, "c", ["a", "b", "c"], ["a", "b", "c"])
    assert (rows.find("D"), copy.find("D"), copy.find("C"), rows.find("X")) == ("d", None, "c", None)
    for wrong in (3, -4):
        with pytest.raises(IndexError):
            copy[wrong]
    copy.append("e")
    assert (list(copy), list(rows)) == (["a", "b", "c", "e"], ["a", "b", "c", "d"]), "each goes its own way"


@pytest.mark.parametrize(
    ("steered", "wrong", "word"),
    [
        (None, None, ""),
        (True, False, "fixes"),
        (False, False, "none"),
        (True, True, "unneeded"),
        (False, True, "harms"),
    ],
)
def test_what_a_vector_did_in_a_word(steered: bool | None, wrong: bool | None, word: str) -> None:
    pair = ev.PairMined(
        pair="p", example="e", control_point_m=1, layer=2, quality=0.5, positives=1, negatives=1, delta_norm=1.0,
        steered_correct=steered, wrong_correct=wrong,
    )  # fmt: skip
    assert [row.effect for row in folded(pair).esm.pairs] == [word]


def test_questions_of_rollouts_answers_and_requests_are_known() -> None:
    state = folded(
        ev.RolloutsMined(example="a", question="A?", n=1, correct=1, mean_tokens=1.0),
        ev.QuestionAsked(example="b", question="B?"),
        ev.ExampleEvaluated(
            method="esm", index=0, example="c", question="C?", gold="", pred="", correct=True, tokens_used=1
        ),
    ).esm
    assert [state.question(name) for name in "abcd"] == ["A?", "B?", "C?", ""]
