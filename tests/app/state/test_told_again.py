"""What a run says twice, as it does after a kill in the middle of a batch: once in the state, as it was said last."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from app.state.columns import AppendOnlyList
from app.state.ledger import EntryUse
from app.state.method import MethodState
from app.state.pool import QueryRow
from app.state.run import RunState
from engine import events as ev
from engine.run.event_log import LogPlace
from tests.synthetic_run import SyntheticRun


def decision(m: int, segment: str, chosen: str | None, delta: float | None = None) -> ev.DecisionTaken:
    return ev.DecisionTaken(
        method="esm", example="a", m=m, gate="chosen", segment=segment, chosen=chosen, delta_logprob=delta
    )


def answer(method: str, text: str, correct: bool) -> ev.ExampleEvaluated:
    return ev.ExampleEvaluated(
        method=method, index=0, example="a", question="?", gold="1", pred="1", correct=correct, tokens_used=9,
        decisions=2, text=text,
    )  # fmt: skip


GREEDY = answer("greedy", "one two", False)
FIRST = [decision(1, "one ", None), decision(2, "four", "e1", 0.5)]


def folded(*events: ev.Event) -> RunState:
    state = RunState()
    for place, event in enumerate(events):
        state.apply(replace(event, seq=place), 100 * place, 10)
    return state


def test_an_equal_report_changes_nothing() -> None:
    """Rows keep the places of the first report, so a cursor on one of them stays."""
    state = folded(GREEDY, *FIRST, answer("esm", "one four", True), *FIRST, answer("esm", "one four", True))
    esm = state.esm
    assert len(esm.decisions) == 2 and len(esm.outcomes) == 2
    assert [esm.decisions.place(row) for row in (0, 1)] == [LogPlace(100, 10), LogPlace(200, 10)]
    assert esm.ledger == {"e1": EntryUse(used=1, right=1, wrong=0, logprob=0.5, probed=1)}


def test_a_report_that_says_something_else_takes_its_row() -> None:
    """Another entry was injected this time, and the answer is wrong: e1 loses its credit, e2 gets none."""
    before = folded(GREEDY, *FIRST, answer("esm", "one four", True))
    kept = before.share()
    state = before
    again = [FIRST[0], decision(2, "five", "e2", 0.25), answer("esm", "one five", False)]
    for place, event in enumerate(again, 4):
        state.apply(replace(event, seq=place), 100 * place, 10)
    decisions = state.esm.decisions
    assert [decisions.text("chosen", row) for row in range(len(decisions))] == ["null", "e2"]
    assert [decisions.column("seq")[row] for row in (0, 1)] == [1, 5]
    assert decisions.place(1) == LogPlace(500, 10)
    assert decisions.column("delta_logprob")[1] == 0.25
    method, example = state.esm.names["esm"], state.esm.names["a"]
    assert state.esm.outcomes.correct(method, example) is False
    assert state.esm.outcomes.left(method, example) == 2
    assert state.esm.ledger == {"e1": EntryUse(0, 0, 0, 0.0, 0), "e2": EntryUse(1, 0, 0, 0.25, 1)}
    # Who looks back at the moment before sees what was known then.
    assert kept.esm.decisions.text("chosen", 1) == "e1" and kept.esm.decisions.place(1) == LogPlace(200, 10)
    assert kept.esm.outcomes.correct(method, example) is True
    assert kept.esm.outcomes.left(method, example) == 2
    assert kept.esm.ledger == {"e1": EntryUse(1, 1, 0, 0.5, 1)}


def test_another_segment_moves_where_the_answer_left_greedys_way() -> None:
    """It left it in segment 2, where e1 was injected; now in segment 1, where e2 is said to have been."""
    state = folded(GREEDY, *FIRST, answer("esm", "one four", True), decision(1, "two ", "e2", 0.25))
    method, example = state.esm.names["esm"], state.esm.names["a"]
    assert state.esm.outcomes.left(method, example) == 1
    assert state.esm.ledger == {"e1": EntryUse(1, 0, 0, 0.5, 1), "e2": EntryUse(1, 1, 0, 0.25, 1)}


@pytest.mark.parametrize("greedy", [(), (answer("greedy", "", False),)])
def test_without_a_text_of_greedy_nobody_left_its_way(greedy: tuple[ev.Event, ...]) -> None:
    """Logs of older versions have none."""
    state = folded(*greedy, *FIRST, answer("esm", "one four", True))
    method, example = state.esm.names["esm"], state.esm.names["a"]
    assert state.esm.outcomes.left(method, example) == 0
    assert state.esm.ledger == {"e1": EntryUse(1, 0, 0, 0.5, 1)}


def test_another_greedy_answer_moves_where_the_others_left_its_way() -> None:
    state = folded(GREEDY, *FIRST, answer("esm", "one four", True), answer("greedy", "zero", True))
    method, example = state.esm.names["esm"], state.esm.names["a"]
    assert state.esm.outcomes.against_greedy(method, example) == 0
    assert state.esm.outcomes.left(method, example) == 1
    assert state.esm.ledger == {"e1": EntryUse(1, 0, 0, 0.5, 1)}


def test_a_whole_run_told_again_from_any_event_on_is_the_same_run() -> None:
    """The rows, the ledger, the figures of every list."""
    events = SyntheticRun(examples=8).events()
    once = [replace(event, seq=0, time=0.0) for event in events]
    whole = folded(*once)
    for start in range(0, len(once), 37):
        twice = folded(*once[: start + 40], *once[start:])
        assert len(twice.esm.decisions) == len(whole.esm.decisions)
        assert twice.esm.ledger == whole.esm.ledger
        assert len(twice.esm.outcomes) == len(whole.esm.outcomes)
        for name in ("pairs", "picks"):
            assert len(getattr(twice.esm, name)) == len(getattr(whole.esm, name))


@pytest.mark.parametrize(("second", "held"), [(3, LogPlace(0, 1)), (4, LogPlace(7, 1))])
def test_a_list_keeps_the_row_and_its_order(second: int, held: LogPlace) -> None:
    rows: AppendOnlyList[QueryRow] = AppendOnlyList()
    for place, (name, failed) in enumerate([("q1", 3), ("q2", 5)]):
        rows.append(query(name, failed, LogPlace(place, 1)), key=name)
    copy = rows.share()
    rows.append(query("q1", second, LogPlace(7, 1)), key="q1")
    assert [(row.query_id, row.failed) for row in rows] == [("q1", second), ("q2", 5)]
    assert rows[0].place == held
    assert [(row.query_id, row.failed) for row in copy] == [("q1", 3), ("q2", 5)]


def test_the_same_at_another_time_is_the_same() -> None:
    """The first report stays, with its time and number."""
    losses: AppendOnlyList[ev.RetrieverEpoch] = AppendOnlyList()
    epoch = ev.RetrieverEpoch(seq=1, time=1.0, epoch=1, epochs=2, loss=0.5, recall={})
    for report in (epoch, replace(epoch, seq=9, time=2.0)):
        losses.append(report, key=1)
    assert [(row.seq, row.time) for row in losses] == [(1, 1.0)]


def test_steps_of_a_training_and_points_of_a_curve_are_told_once() -> None:
    """Of each step the later report; of a look at validation each method's, too."""
    step = ev.SamplerStep(step=1, steps=3, loss=2.0, tb_loss=1.0, success_mean=0.25)
    looked = ev.SamplerEvaluated(split="validation", step=1, method="gflownet", n=4, k=2, metrics={"a": 0.5})
    events = [
        step, replace(step, step=2), looked, replace(looked, step=2), replace(looked, method="beam"),
        replace(step, loss=1.5), replace(step, step=2), replace(looked, metrics={"a": 0.75}),
    ]  # fmt: skip
    gflownet = folded(*events).gflownet
    assert [(row.step, row.loss) for row in gflownet.steps] == [(1, 1.5), (2, 2.0)]
    assert [(row.method, row.step, row.metrics["a"]) for row in gflownet.evaluated] == [
        ("gflownet", 1, 0.75), ("gflownet", 2, 0.5), ("beam", 1, 0.5)
    ]  # fmt: skip
    row = ev.MethodEvaluated(method="esm", n=20, accuracy=0.5, mean_tokens=9.0, final=False)
    later = replace(row, n=40, accuracy=0.75)
    esm = folded(row, later, row, later, replace(later, final=True)).esm
    assert list(esm.curves["esm"]) == [(20, 0.5), (40, 0.75)]
    done = replace(later, final=True, tokens_per_second=1314.0)
    assert folded(done, replace(done, tokens_per_second=0.0)).esm.final["esm"].tokens_per_second == 1314.0, (
        "a resume decodes nothing of a method that is done"
    )
    picked = ev.SelectorPicked(query_id="q", question="?", answers={}, pool=[], picks=[])
    done = ev.RequestAnswered(request="r", outcome="answered", tokens=4, seconds=1.0)
    others = replace(picked, query_id="p"), replace(done, request="s")
    state = folded(picked, done, picked, done, *others)
    assert [row.query_id for row in state.pool.picks] == ["q", "p"]
    assert [row.request for row in state.serve.ended] == ["r", "s"]


def query(name: str, failed: int, place: LogPlace) -> QueryRow:
    return QueryRow(name, "?", 64, 0.0, 0.0, 0, 0, 0, 0, 0, failed, "", place)


def test_rollouts_are_counted_by_example_and_draw() -> None:
    def rollout(example: str, draw: int, correct: bool) -> ev.RolloutEnded:
        return ev.RolloutEnded(example=example, draw=draw, correct=correct, reward=0.0, tokens=7, segments=1)

    first = [rollout("a", 0, True), rollout("a", 1, False), rollout("b", 0, True)]
    esm = folded(*first, *first, rollout("b", 0, False), rollout("b", 1, True)).esm
    assert (len(esm.rollouts), esm.rollouts_right) == (4, 2)


def test_a_pair_is_one_row_before_and_after_it_was_tried_out() -> None:
    """Also where a later attempt mines it again."""
    found = ev.PairMined(
        pair="p",
        example="a",
        control_point_m=1,
        layer=2,
        quality=0.5,
        positives=1,
        negatives=1,
        delta_norm=1.0,
    )
    tried = replace(found, steered_correct=True, wrong_correct=False, right_correct=True)
    assert [pair.effect for pair in folded(found).esm.pairs] == [""]
    rows = list(folded(found, tried, found, tried).esm.pairs)
    assert [(pair.effect, pair.place) for pair in rows] == [("fixes", LogPlace(300, 10))]


def test_totals_follow_the_later_report() -> None:
    """A pool query asked again, and a controller's call that failed at first."""
    done = ev.PoolQueryDone(
        query_id="q", question="?", answers={}, given_pool=0, pool_before=[], pool_after=[], similarity=[],
        injected=[], referenced=[], oracle_before=0.0, oracle_after=0.3, trajectories=[], asked=2,
    )  # fmt: skip
    failed = ev.StateUpdated(
        conversation_id="c", memory_mode="flat", turn=0, plan_mode="", failure="no reply"
    )
    state = folded(done, failed, replace(done, asked=5, oracle_after=1.0), replace(failed, failure=""))
    assert [row.after for row in state.pool.queries] == [1.0]
    assert state.slsm.failures == 0
    assert folded(failed, failed).slsm.failures == 1
    assert isinstance(state.pool, MethodState)
