"""All that each method's page says of runs made by hand, in which every branch occurs: texts, figures, tones, links,
the settings of columns and fields, the coordinates of pictures. Figures worked out by hand stand in the tests of the
pages. After a change that is meant, update the snapshots (`--snapshot-update`) and read the difference."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from app.methods.pages import page_of
from engine import events as ev
from tests.app.methods.esm import made as esm
from tests.app.methods.evolution import test_evolution_page as evolution
from tests.app.methods.gflownet import test_cases as paths
from tests.app.methods.gflownet import test_results as sampler
from tests.app.methods.pool import test_pool_page as pool
from tests.app.methods.slsm import test_slsm_page as slsm
from tests.page_text import Log, TextFile, page_lines


def other(given: str, **more: object) -> ev.OtherAnswer:
    return ev.OtherAnswer(given=given, **{"text": f"text of {given}", "tokens": 4} | more)  # type: ignore[arg-type]


def tried(system: str, *yours: ev.OtherAnswer, **more: object) -> ev.AnswerTried:
    return ev.AnswerTried(
        system=system, example="q", case={}, question="?", exact=True, committed=other("as it was", right=True),
        none=other("nothing", text="as it was", tokens=1234, right=False, verdict="no", score=0.0),
        yours=[*yours, other("an other", right=False, verdict="a judge's words", tokens=3, score=0.5)],
    )  # fmt: skip


NOT_JUDGED = {"right": None, "score": None}
EVOLUTION = [
    evolution.CLUSTERS, evolution.began(iterations=5, cannot_tell=1),
    ev.ServerChanged(state="starting", server="SGLang", detail="port 4711", log=["loading", "shards"]),
    evolution.PLAIN_Q, evolution.answer(0, "baseline", "p", 9, True), evolution.answer(0, "baseline", "h", 8, True),
    evolution.scored(0, "baseline", 0.5, 8.0, correct=1),
    evolution.FIRST, evolution.scored(0, "minibatch", 0.51, 9.0, cannot_tell=2, answers=9),
    evolution.scored(0, "validation", 0.5, 8.0, best=True),
    *evolution.replied(0, evolution.CUT, deltas=evolution.SECOND.deltas, summary="Less\npadding.", message="m.txt",
                       attempts=2)[1:],
    ev.IterationFinished(iteration=0, calls=1, tokens=10),
    evolution.SECOND, evolution.answer(1, "minibatch", "m", 5, None, cannot_tell=True), evolution.UNDER_Q,
    evolution.UNDER_P, evolution.answer(1, "validation", "h", 4, True),
    evolution.answer(1, "test", "n", 2, None, pieces=["a", " b", " c"], clusters=[0, 14]),
    evolution.answer(1, "test_brief", "q", 10, True), evolution.answer(0, "test_plain", "n", 2345, False),
    evolution.scored(1, "minibatch", 0.6, 5.0, correct=2), evolution.scored(1, "validation", 0.62, 6.5, best=True),
    *evolution.replied(1, deltas={"0": 0.4, "2": -1.0, "3": 0.1}, summary="Still less.")[1:],
    ev.IterationFinished(iteration=1, calls=1200, tokens=34567, cost=1.5),
    ev.IterationBegan(iteration=2, deltas={"0": 0.3, "2": -1.0, "3": 0.1}),
    evolution.scored(2, "minibatch", 0.55, 5.0),
    *evolution.replied(2, {"missing clusters": "2", "beyond ±100": "3"}, aborted="no valid reply")[1:],
    ev.ServerChanged(state="failed", server="SGLang", log=["out of memory"]),
    ev.IterationBegan(iteration=3, deltas={}),
    *evolution.COMPARED,
]  # fmt: skip
PUBLISHED = [
    evolution.began(best_by="minibatch", validation=0, test=0, weights=[1 / 3, 2 / 3], scale=123.4567), evolution.FIRST,
    evolution.scored(0, "minibatch", 0.5, 9.0, best=True), evolution.SECOND,
    evolution.scored(1, "minibatch", 0.8, 5.0, best=True),
]  # fmt: skip
QUESTIONS = [
    paths.question("q1", paths.RIGHT, paths.ASTRAY, paths.STOPPED, prior_alpha=0.1234, temperature=1.23456789,
        edges=1500, question="Which\nriver?"),
    paths.question("q2", *[paths.ASTRAY] * 2, paths.SHORT, golds=["Sella", "Po"], distinct=True, samples=1),
    paths.question("q3", *(replace(paths.ASTRAY, steps=[replace(paths.TWIN, relation=f"r{at}")]) for at in range(6))),
    paths.question("q4", answers=[], paths=[], samples=0, prompt=""),
    paths.answer("q1", "triples", False, "Lima", prompt_tokens=1234),
    paths.answer("q1", "gflownet", True, "Sella\nPo", cut=True), paths.answer("q2", "triples", True, "Glomma"),
    paths.answer("q2", "gflownet", False, "", failure="no reply"), paths.answer("q9", "gflownet", True, "Sella"),
    sampler.compared("gflownet", 0.798, difference=0.293, low=0.192, high=0.394, p=4e-07),
    sampler.compared("triples", 0.505), sampler.compared("other", 0.4, difference=-0.1, low=-0.2, high=-0.05),
]  # fmt: skip
BOTH = {"success@1": 0.5, "success@20": 0.9, "answer_recall_union@1": 0.4, "answer_recall_union@20": 0.85}
SAMPLER = [
    ev.GraphsBuilt(split="train", samples=1400, dropped={"an empty graph": 2000}, broken_triples=3, edges_mean=5107.0,
                   nodes_mean=382.2, in_degree_max=160, reachable=1384, signal_to_noise=0.00399,
                   hops={"2": 138, "1": 1214}),
    ev.GraphsBuilt(split="test", samples=1, dropped={}, broken_triples=0, edges_mean=1, nodes_mean=2, in_degree_max=1,
                   reachable=1, signal_to_noise=0.5, hops={}),
    ev.RetrieverEpoch(epoch=1, epochs=2, loss=0.84, recall={"10": 0.38, "50": 0.75}, best=True),
    ev.RetrieverEpoch(epoch=2, epochs=2, loss=0.63, recall={"10": 0.37}),
    ev.RetrieverMeasured(split="train", samples=100, recall={"10": 0.79}, missing=1, unscored=2),
    ev.RetrieverMeasured(split="test", samples=100, recall={"10": 0.76, "50": 0.98}),
    ev.AgentGraphsBuilt(split="test", samples=99, dropped={"answer outside the graph": 1}, edges_mean=63.9,
                        nodes_mean=36.4),
    *(sampler.step(10 * at, loss=at / 10, success_mean=at % 3 / 2) for at in range(1, 64)),
    sampler.step(640, residual_quantiles=[], pb_nll=1.25, pb_entropy=-0.5, pb_l2=0.25, gt_loss=0.0,
        pb_avg_entropy=0.7),
    sampler.looked(100, 0.6, True), sampler.looked(200, 0.5, False),
    sampler.evaluated("gflownet", {**BOTH, "success_all@1": 0.45, "unique_success_paths@20": 5.04, "hits@1": 0.7,
                                   "path_hit_f1": 0.425, "total_variation": 0.6434, "logpf_logr_spearman": -0.25},
                      missed=1, listed=98, intervals={"success@1": (0.41, 0.59), "answer_recall_union@20": (0.8, 0.9),
                                                      "unique_success_paths@20": (4.0, 6.04)}),
    sampler.evaluated("distinct", BOTH, settings={"temperature": 1.4, "other": 3.0}),
    sampler.evaluated("greedy", {"success@1": 0.8, "answer_recall_union@1": 0.6}, k=1),
    sampler.evaluated("beam", {"success@1": 0.3, "path_hit_f1": 0.2}, settings={"edge_bonus": 1.5,
        "stop_score": 0.5}),
]  # fmt: skip
PATHS_TRIED = ev.PathsTried(
    example="q1", committed=paths.question(), none=paths.question(temperature=1.23456789, prior_alpha=0.0),
    yours=paths.question("q1", replace(paths.RIGHT, probability=0.5), paths.SHORT,
                         replace(paths.SHORT, steps=[replace(paths.CAPITAL, relation="is in")])), exact=True,
)  # fmt: skip
NOTE = "[SLSM MEMORY NOTE]\nNever say pear\nat all"
OLD = ev.StateItem(kind="facts", id="F1", text="Three dogs", evidence="name one", status="satisfied")
NOTES = [
    slsm.opened(),
    slsm.state_after(0, items=[slsm.RULE], reasons=["it may forget"],
                     changes=[ev.StateChange(operation="added", item=slsm.RULE)]),
    slsm.state_after(
        1, items=[slsm.RULE, OLD], failure="no reply", gated=[replace(OLD, id="F2", text="a zebra")],
        changes=[ev.StateChange(operation="changed", item=OLD, before="Two dogs"),
                 ev.StateChange(operation="resolved", item=replace(slsm.RULE, id="C2"), why="done")],
    ),
    ev.StateUpdated(conversation_id="c", memory_mode="flat", turn=0, plan_mode="clarify", memory_text="A. B is new.",
                    new_text=["B is new."], gone_text=["C."], mismatch=True),
    ev.StateUpdated(conversation_id="c", memory_mode="flat", turn=1, plan_mode="proceed"),
    slsm.answered("baseline", False, "Pear.", memory="none", model_calls=1, model_tokens=1234),
    slsm.answered("always", True, "Plum\nor fig.", note=NOTE, note_tokens=7, verdict="no pear", controller_calls=2,
                  controller_tokens=2345, detector_calls=1, detector_tokens=3456, cost=0.123456),
    slsm.answered("never", None, "", controller_tokens=5),
    slsm.answered("on_detection", False, "Fig.", memory="flat", note="x", note_tokens=1, first_answer="Pear.",
                  verdict="has pear", detector_failure="timeout",
                  conflicts=[ev.AnswerConflict(item="C1", why="says pear", exact=True),
                             ev.AnswerConflict(item="C2", why="C2 too", exact=False)]),
    replace(slsm.answered("baseline", True, "Plum.", memory="none"), attempt=1),
    replace(slsm.answered("always", False, "Pear.", note="y"), attempt=1, axis=""),
    replace(slsm.answered("always", None, "Pear.", memory="none", verdict="unsure"), conversation_id="d"),
    ev.SLSMBegan(conversations=1200, variants=[], controller="rules", model="m", judge="exact", dataset="d",
                 dataset_hash="abcdef0123456789", axes=[], detector="checks"),
    slsm.scored("baseline", "none", 0.3, injections=0),
    slsm.scored("always", "structured", 0.85, difference=0.55, difference_low=0.4, difference_high=0.7,
                injections=1800, fixed=1234, broke=1001, wasted=5000, cut=2, unanswered=3, injected_tokens=21.5,
                controller_calls=4.25, model_calls=1.5, detector_calls=0.125, controller_tokens=1000,
                    model_tokens=200,
                detector_tokens=34, failures=6),
    replace(slsm.scored("never", "flat", 0.2, difference=-0.1, difference_low=-0.2, difference_high=-0.05), judged=0),
    replace(slsm.scored("on_risk", "flat", 0.85, injections=3), by_axis=[["", 0.5, 0, 1, 2], ["A_B", 0.25, 0, 1, 2]]),
]  # fmt: skip
ORACLE = [
    ev.OracleTotal(mean=mean, positive=positive, low=0.1, high=0.9)
    for mean, positive in ((0.3, 1), (0.9, 1300))
]
POOL_PAIR = [pool.trajectory("given", (4, 5), 0.6)]
POOL = [
    replace(pool.BETTER, given_pool=1070, filled=3), replace(pool.WORSE, question="Two\nlines?",
        trajectories=POOL_PAIR), pool.query("q3", 0.5, 0.5, trajectories=[pool.trajectory("given", (4, 5), None)]),
    replace(pool.query("q4", 0.3, 0.9, trajectories=[
                   pool.trajectory("given", (4, 5), 0.3, answer="two\ndogs"),
                   pool.trajectory("committed", (999, 4), 0.6, answer="a\nb", rule="better"),
                   pool.trajectory("committed", (999, 6), 0.9, 3, answer="b"),
                   pool.trajectory("of_later", (4, 5), None, 2, origin="by_hand"),
                   pool.trajectory("refused", (4, 10), 0.0, 2)]),
            pool_before=[4, 5, *range(10, 17)], pool_after=[4, 999, *range(10, 17)], injected=[1],
                similarity=[0.5] * 9),
    ev.PoolPairEvaluated(query_id="q5", pair=(1, 2), score=0.5), ev.PoolPairEvaluated(query_id="q6", pair=(1, 2),
        score=None),
    ev.PoolTotals(queries=1400, injected=5000, warnings=1200, rules={}, before=ORACLE[0], after=ORACLE[1]),
    pool.P1, pool.P2, pool.P3, pool.picked("p4"),
    replace(pool.P2, query_id="p6", question="Two\nlines?"), replace(pool.WORSE, pool_after=[],
        trajectories=POOL_PAIR),
    pool.picked("p5", pool.pick("other", 0.5), pool.pick("random", 0.5), pool.pick("selector", 0.5),
        pool.pick("rices", 0.5)),
    *pool.STEPS, *(pool.step(at, "policy_gradient", None) for at in range(5, 70)), *pool.COMPARED,
]  # fmt: skip
PICKED = esm.pick(3, "data-0003_m2_l2_wrong", m=2, max_similarity=-1.0, reason="floor", gain=0.5)
LONG = replace(esm.answer("greedy", "t-9", "28", "x"), question="long " * 60)
STEERING = [
    *(ev.RolloutEnded(example="e", draw=at, correct=at % 4 > 0, reward=1.0, tokens=7,
        segments=3) for at in range(1600)),
    esm.pair(), esm.pair("data-0002", **esm.tried(True, False)), esm.pair("data-0003", 2, **esm.tried(False, True)),
    esm.pair("data-0004", negatives=1, **esm.tried(False, False)), esm.pair("data-0005", **esm.tried(True, True)),
    esm.pick(1, esm.W1), esm.pick(2, "r-1", "right"), PICKED, esm.pick(4, "data-0009_m1_l2_wrong"),
    ev.MemoryBuilt(entries=1200, hidden_size=64, layers=[2, 3], by_control_point={"1": [900, 1100], "2": [1, 0]}),
    *esm.TURNED_RIGHT, *esm.TURNED_WRONG, *esm.SAME_OUTCOME, *esm.AS_GREEDY, LONG, esm.decision("t-3", 2, ""),
    esm.decision("t-9", 1, "so far", **{**esm.CHOSEN, "chosen": PICKED.tool_name, "null_segment": "null wrote this"}),
    esm.decision("t-7", 1, "at zero", candidates=[
        ev.Candidate(entry="a-name-of-25-characters-x_m1_l2_wrong", name="a name of 25 characters x", kind="wrong",
                     similarity=0.5, quality=0.5, ahat=0.25, score=0.0)], null_score=0.0, null_probe="none"),
    esm.decision("t-7", 2, "below", null_score=-0.5, candidates=[
        ev.Candidate(entry=esm.W1, kind="wrong", similarity=0.5, quality=0.5, ahat=0.25, score=-0.25)]),
    esm.decision("t-7", 3, "b", null_ahat=0.5, candidates=[
        ev.Candidate(entry=esm.W1, kind="wrong", similarity=0.5, quality=0.5, ahat=0.25, score=0.5)]),
    esm.decision("t-7", 4, "c", gate="chosen", chosen="a-name-of-25-characters-x_m1_l2_wrong", layer=None, alpha=0.0),
    esm.decision("t-8", 1, "sure", gate="tau_null", ended="", memory_size=1200),
    esm.method("greedy", tokens_per_second=1234.4, n=4000), esm.method("esm", accuracy=0.75, mean_tokens=70.0,
        mean_probe_tokens=20.0, difference=0.25, low=0.1, high=0.4, p=0.03125, fixed=2, broken=1200),
    esm.method("majority_vote", difference=-0.25, low=-0.4, high=-0.1, p=0.5, broken=1),
    *(esm.method("no_probing", n=n, accuracy=n / 10, final=False) for n in (1, 2)),
]  # fmt: skip
MINING = STEERING[1590:1603]
DECODED = ev.TriedAnswer(
    alpha=1.4,
    chosen=[None, esm.W1],
    text="one.",
    correct=True,
    pred="28",
    tokens_used=1200,
    probe_tokens_used=3,
)
STRENGTHS = ev.WhatIfTried(
    method="esm", example="t-1", m=2, question="?", gold="28", entries=["a", "b"], layer=2, onward=True, exact=True,
    committed=DECODED, null=replace(DECODED, correct=None, pred="", chosen=[None]),
    yours=[replace(DECODED, alpha=1.23456), replace(DECODED, correct=False, pred="3", text="b")],
)  # fmt: skip
SERVED = [
    ev.ServeOpened(url="http://127.0.0.1:8899/v1", model="embedded", key="/outputs/key", usual=["esm"], levers=[
        ev.LeverFit(lever="esm", run="r", fits=True, why="a memory"), ev.LeverFit(lever="notes", run="r", fits=True,
            why=""),
        ev.LeverFit(lever="deltas", run="r", fits=False, why="for another vocabulary")]),
    *(ev.RequestTaken(request=f"r{at}", kind="chat", levers=[], question="Two\nlines?" * (at > 2), prompt_tokens=1234,
                      waited=at / 20) for at in range(14)),
    ev.RequestAnswered(request="r0", outcome="answered", finish="stop", tokens=1200, probe_tokens=32, first=0.25,
        text="19",
                       seconds=1.5, segments=2, steered=1, did=[
                           ev.LeverActed(lever="esm", acted=True, what="steered 1 of 2 segments", tokens=3200),
                           ev.LeverActed(lever="notes", acted=False, what="no note")]),
    ev.RequestAnswered(request="r2", outcome="vanished", seconds=9.0, first=1 / 3), ev.RequestAnswered(request="r9",
        outcome="failed", why="no reply", finish="x"),
    ev.RequestAnswered(request="unknown", outcome="refused"),
]  # fmt: skip
LOADED = ev.ServeLoad(
    in_flight=1001,
    waiting=1002,
    answered=1003,
    vanished=1004,
    failed=1005,
    refused=1006,
    tokens=9,
    tokens_per_second=1234.5,
)
Tried = ev.AnswerTried | ev.PathsTried | ev.WhatIfTried | None

RUNS: dict[str, tuple[list[ev.Event], Tried]] = {
    "Evolution": (EVOLUTION, tried("evolution", other("nothing new", text="text of as it was", **NOT_JUDGED),
                                   other("deltas", right=True, tokens=1000, deltas={"2": -0.5, "3": 0.0}))),
    "Evolution published": (PUBLISHED, None),
    "GFlowNet questions": (QUESTIONS, PATHS_TRIED), "GFlowNet sampler": (SAMPLER, None),
    "SLSM": (NOTES, tried("slsm", other("a note", note="No\npear.", tokens=3, text="Plum."), other("same",
        right=True))),
    "ESM": (STEERING, STRENGTHS), "ESM mining": (MINING, replace(STRENGTHS, onward=False, names=["a name"], m=1)),
    "Server": (SERVED, None),
    "Server loaded": ([ev.WorkerStarted(pid=1, attempt=1, stages=["serve"]), replace(SERVED[0], key="no key"),
        LOADED], None),
    "Server paused": ([ev.WorkerStarted(pid=1, attempt=1, stages=["serve"]), ev.StagePaused(), replace(SERVED[0],
        key="in words")], None),
    "Pool search": (POOL[:2], None), "Pool": (POOL, tried("pool", other("rows", score=1.0, text="7"),
        other("failed", score=None, verdict="it\nfailed"))),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_all_that_a_page_says(name: str, snapshot: SnapshotAssertion) -> None:
    events, answers = RUNS[name]
    lines = page_lines(page_of(name.split()[0]), Log(*events), answers)
    assert "\n".join(lines) + "\n" == snapshot(extension_class=TextFile)
