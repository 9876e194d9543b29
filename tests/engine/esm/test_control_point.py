"""What one control point asks the model to decode, and what an answer's line says: by hand, without a model."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import numpy as np
import pytest

from engine.config.config import Config
from engine.config.esm import OnlineSection
from engine.esm.evaluation.eval_work import Answering, Batch
from engine.esm.evaluation.sources import Sources
from engine.esm.library.memory import Entry
from engine.esm.online.control_point import Answer, Decider, Plan
from engine.esm.online.controller import Controller, record, record_tail
from engine.esm.online.decide import Choice, Hit, Retrieval
from engine.esm.online.describe import describe
from engine.esm.online.forced import Forced
from engine.esm.online.variants import Variant, _along, layer_means
from engine.events import Candidate, DecisionTaken
from engine.lm.protocol import Branch, Completion, Finished, Request, Sampling, Steer
from engine.scale.work import WorkContext
from engine.seeds import derive_seed
from engine.tasks.example import TaskExample

ONLINE = OnlineSection(L=2, probe_tokens=4, k_scale=3.0, beta=1.0, rho=0.0, tau_null=0.0)
HITS = [
    Hit(Entry(f"e{i}", i, 1, 1.0, np.full(2, i + 1.0, dtype=np.float32), "x"), similarity, similarity)
    for i, similarity in enumerate((0.9, 0.6))
]


def processor(written: object, logits: object) -> object:
    return logits


def decider(temperature: float = 0.0) -> Decider:
    variant = Variant("esm", lambda m, states: Retrieval(None, 2, HITS), (0, 1))
    return Decider(variant, ONLINE, 3, "END", 50, temperature, 7, processor)


def branches(temperature: float, chosen: bool) -> tuple[Plan, list[Branch], Branch, Branch, Branch]:
    """Of an answer of 20 tokens at control point 2: its plan, probes, commit, null segment and tail."""
    own, answer = decider(temperature), Answer("a-1", tokens=[0] * 20)
    plan = own.plan(5, 2, np.zeros((2, 2), dtype=np.float32))
    probes = own.probes(plan)
    best, worse = (-0.5, -9.0) if chosen else (-9.0, -9.0)
    done = [Completion([1, 2], [logprob] * 2, "", "length") for logprob in (-1.0, best, worse)]
    own.take_probes(plan, answer, iter(done))
    if not chosen:
        plan.retrieval = Retrieval(None, 2, [Hit(Entry("r", 0, 1, 2.0, None, "x"), 1.0, 2.0)])
    own.decide(plan, 2)
    assert answer.probe_tokens == plan.probe_tokens == 6
    return plan, probes, own.commit(plan, answer, 2), own.null_segment(plan, answer, 2), own.tail(5, answer)


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_a_steered_segment_begins_anew_and_null_goes_on_from_its_probe_if_that_is_greedy(
    temperature: float,
) -> None:
    segment, rest = Sampling(30, temperature, "END"), Sampling(30, temperature)
    seed, last = derive_seed(7, "commit", "a-1", 2), derive_seed(7, "tail", "a-1")
    plan, probes, steered, null, tail = branches(temperature, chosen=True)
    assert [branch.sampling for branch in probes] == [Sampling(4)] * 3, (
        "probes are greedy, whatever the answer is"
    )
    assert [branch.steer and (branch.steer.layer, branch.steer.scale) for branch in probes] == [
        None,
        (0, 1.0),
        (1, 1.0),
    ]
    assert probes[0].keep is (temperature == 0)
    assert (steered.sampling, steered.seed, steered.continue_from) == (segment, seed, None)
    assert steered.steer is not None and (steered.steer.layer, steered.steer.scale) == (0, pytest.approx(2.7))
    goes_on = plan.null_probe if temperature == 0 else None
    assert (null.sampling, null.seed, null.steer) == (segment, seed, None) and null.continue_from is goes_on
    assert (tail.sampling, tail.seed, tail.steer, tail.continue_from) == (rest, last, None, None)
    plan, _, unsteered, _, _ = branches(temperature, chosen=False)
    assert plan.choice is not None and plan.choice.gate == "null_best"
    assert (unsteered.sampling, unsteered.seed, unsteered.steer) == (segment, seed, None)
    assert unsteered.continue_from is (plan.null_probe if temperature == 0 else None) and unsteered.keep
    everything = [*probes, steered, null, tail, unsteered]
    assert {branch.row for branch in everything} == {5}
    assert all(branch.processor is processor for branch in everything)


@pytest.mark.parametrize(
    ("m", "onward", "points"), [(2, False, [2]), (2, True, [2, 3, 4]), (1, False, [1]), (4, True, [4])]
)
def test_a_forced_choice_holds_at_its_point_or_from_it_on(m: int, onward: bool, points: list[int]) -> None:
    forced = Forced(m, Steer(np.ones(2, dtype=np.float32), 1, 9.0), "mine", onward)
    own = decider()
    for point in range(1, 5):
        plan = Plan(5, Retrieval("no_memory"))
        own.decide(plan, point, forced)
        assert (plan.steer is forced.steer) is (point in points)
        assert own.commit(plan, Answer("a-1"), point).steer is (forced.steer if point in points else None)


def weighed(**more: Any) -> Plan:
    """Of four hits two are probed: `w1` supports most, `w0` is chosen; `r` speaks for null."""

    def hit(name: str, layer: int, quality: float, similarity: float, source: str, wrong: bool = True) -> Hit:
        vector = np.ones(2, dtype=np.float32) if wrong else None
        entry = Entry(name, layer, 1, quality, vector, source, name=name.upper())
        return Hit(entry, similarity, similarity * quality)

    hits = [
        hit("w0", 1, 0.5, 0.9, "x"), hit("r", 2, 1.0, 0.8, "y", wrong=False), hit("w1", 2, 1.0, 0.7, "z"),
        hit("w2", 3, 0.1, 0.6, "z"),
    ]  # fmt: skip
    retrieval = Retrieval(None, 9, hits)
    probes = [
        Completion([1, 2, 3], [-1.0, -2.0, -3.0], "first", "length"), Completion([4], [-0.5], "second", "stop"),
    ]  # fmt: skip
    null = Completion([5, 6], [-1.0, -1.0], "null", "length")
    choice = Choice("chosen", 1, [0.3, 0.6], 0.2, alpha=1.8)
    return Plan(7, retrieval, retrieval.candidates(2), probes, null, choice, **more)


WRITTEN = Completion([1, 2, 3, 4], [-1.0] * 4, " and so", "stop")


def test_a_decision_says_what_was_weighed_and_what_came_of_it() -> None:
    answer = Answer("a-1", tokens=[0] * 20, text="Hence")
    found = describe("esm", answer, weighed(), WRITTEN, 2, " else", "segment")
    assert found == DecisionTaken(
        method="esm", example="a-1", m=2, phase="segment", gate="chosen", memory_size=9, top_similarity=0.9,
        best_ahat=0.7, null_ahat=0.8, null_logprob=-1.0, null_score=0.2, null_probe="null", chosen="w0", layer=1,
        logprob=-0.5, delta_logprob=0.5, score=0.6, alpha=1.8, tokens_before=20, committed_tokens=4, probe_tokens=6,
        ended="stop", prefix="Hence", segment=" and so", null_segment=" else",
        candidates=[
            Candidate(entry="w1", kind="wrong", similarity=0.7, quality=1.0, ahat=0.7, layer=2, source="z",
                      probed=True, logprob=-2.0, delta_logprob=-1.0, score=0.3, probe_text="first", probe_tokens=3,
                      name="W1"),
            Candidate(entry="w0", kind="wrong", similarity=0.9, quality=0.5, ahat=0.45, layer=1, source="x",
                      probed=True, logprob=-0.5, delta_logprob=0.5, score=0.6, probe_text="second", probe_tokens=1,
                      name="W0"),
            Candidate(entry="r", kind="right", similarity=0.8, quality=1.0, ahat=0.8, layer=2, source="y",
                      probed=False, name="R"),
            Candidate(entry="w2", kind="wrong", similarity=0.6, quality=0.1, ahat=0.6 * 0.1, layer=3, source="z",
                      probed=False, name="W2"),
        ],
    )  # fmt: skip


def test_a_forced_decision_keeps_what_was_weighed() -> None:
    answer = Answer("a-1")
    plain = describe("esm", answer, weighed(), WRITTEN, 2, None, "segment")
    steer = Steer(np.ones(2, dtype=np.float32), 3, 9.0)
    nothing = {"gate": "forced", "logprob": None, "delta_logprob": None, "score": None}
    for forced, done in (
        (Forced(2, steer, "mine"), {"chosen": "mine", "layer": 3, "alpha": 9.0}),
        (Forced(2), {"chosen": None, "layer": None, "alpha": 0.0}),
    ):
        found = describe("esm", answer, weighed(forced=forced), WRITTEN, 2, None, "segment")
        assert found == msgspec.structs.replace(plain, **nothing, **done)


@pytest.mark.parametrize(("gate", "said"), [("first_segment", "first_segment"), (None, "no_candidates")])
def test_a_decision_without_anything_to_choose_from(gate: str | None, said: str) -> None:
    found = describe("esm", Answer("a-1"), Plan(0, Retrieval(gate)), WRITTEN, 1, None, "tail")
    assert found == DecisionTaken(
        method="esm", example="a-1", m=1, phase="tail", gate=said, committed_tokens=4, ended="stop",
        segment=" and so", memory_size=0, prefix="", tokens_before=0, probe_tokens=0, alpha=0.0, candidates=[],
    )  # fmt: skip


def test_without_a_right_entry_null_has_no_support() -> None:
    """Which is a figure, 0, where entries were retrieved."""
    plan = weighed()
    wrong = [hit for hit in plan.retrieval.hits if hit.entry.vector is not None]
    plan = Plan(7, Retrieval(None, 9, wrong), wrong, [])
    assert describe("esm", Answer("a-1"), plan, WRITTEN, 2, None, "segment").null_ahat == 0.0


def test_a_committed_segment_is_added_to_its_answer() -> None:
    """An answer goes on only behind a delimiter, and none does behind its tail."""
    answer = Answer("a-1", tokens=[9], text="So")
    own = decider()
    record(answer, "esm", Plan(5, Retrieval("no_memory")), WRITTEN, 1, None)
    assert (answer.tokens, answer.text, answer.steered, answer.ended) == (
        [9, 1, 2, 3, 4],
        "So and so",
        0,
        False,
    )
    steered = Plan(
        5, Retrieval("no_memory"), forced=Forced(2, Steer(np.ones(2, dtype=np.float32), 1, 9.0), "mine")
    )
    record(answer, "esm", steered, WRITTEN, 2, "null")
    assert (answer.steered, answer.ended, len(answer.tokens)) == (1, False, 9)
    for ended in ("eos", "length"):
        one = Answer("a-1")
        record(one, "esm", Plan(5, Retrieval("no_memory")), replace(WRITTEN, ended=ended), 1, None)
        assert one.ended
    record_tail(answer, own, 5, WRITTEN)
    assert (answer.steered, answer.ended, answer.text) == (1, True, "So and so and so and so")
    told = [
        (one.method, one.m, one.phase, one.gate, one.tokens_before, one.null_segment)
        for one in answer.decisions
    ]
    assert told == [
        ("esm", 1, "segment", "no_memory", 1, None), ("esm", 2, "segment", "forced", 5, "null"),
        ("esm", 4, "tail", "tail", 9, None),
    ]  # fmt: skip


def test_a_line_counts_an_answer_strictly_only_where_it_is_marked() -> None:
    """Two of gsm8k's answers, the first of which is number 8 of all."""
    texts = ["so it is 7", "no 7\n#### 5"]

    class Says:
        info = SimpleNamespace(hidden_size=2)
        tokenizer = SimpleNamespace(encode_chat=lambda text, system: [1, 2])

        def generate(self, requests: list[Request], finished: Finished) -> list[Completion]:
            done = [Completion([1] * 4, [], text, "eos") for text in texts]
            for place, completion in enumerate(done):
                finished(place, completion)
            return done

    nothing = lambda *_: None  # noqa: E731
    clock = iter([10.0, 12.5])
    context = SimpleNamespace(load_model=lambda section: Says(), clock=lambda: next(clock), emit=nothing)
    config = Config.model_validate({"task": {"dataset": "gsm8k"}})
    examples = [TaskExample("a", "Q", "7"), TaskExample("b", "Q", "5")]
    answer = Answering(config, Sources()).open(cast("WorkContext", context))
    answered = answer(Batch("greedy", 8, examples))
    first, second = answered.lines
    assert (answered.method, answered.seconds) == ("greedy", 2.5)
    told = [(line.index, line.pred, line.correct, line.correct_strict) for line in (first, second)]
    assert told == [(8, "7", True, False), (9, "5", True, True)]
    assert (first.tokens_used, first.probe_tokens_used, first.budget_used) == (4, 0, 4)


def test_an_answer_goes_on_while_it_is_shorter_than_its_budget() -> None:
    """Of four tokens: at exactly four nothing is left to be written, and the tail is not asked for."""
    controller: Any = Controller.__new__(Controller)
    controller.decider = SimpleNamespace(budget=4)
    answers = [Answer("a", tokens=[1] * count) for count in (0, 3, 4, 5)]
    assert controller._active([*answers, Answer("b", tokens=[1], ended=True)]) == [0, 1]


def test_a_mean_vector_of_no_length_stays_one() -> None:
    """Two opposite vectors of a layer cancel each other: there is no direction, and no NaN."""
    mined = np.array([3.0, 4.0], dtype=np.float32)
    (mean,) = layer_means([(2, mined), (2, -mined)]).values()
    along = [_along(direction, mined) for direction in (mean, np.array([0.0, 0.5], dtype=np.float32))]
    assert [one.tolist() for one in along if one is not None] == [[0.0, 0.0], [0.0, 5.0]]
