"""What one control point asks the model to decode, and what an answer's line says: by hand, without a model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from engine.config.config import Config
from engine.config.esm import OnlineSection
from engine.esm.evaluation.eval_work import Answering, Batch
from engine.esm.evaluation.sources import Sources
from engine.esm.library.memory import Entry
from engine.esm.online.control_point import Answer, Decider, Plan
from engine.esm.online.decide import Hit, Retrieval
from engine.esm.online.forced import Forced
from engine.esm.online.variants import Variant
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
    context = SimpleNamespace(load_model=lambda section: Says(), clock=lambda: 0.0, emit=nothing)
    config = Config.model_validate({"task": {"dataset": "gsm8k"}})
    examples = [TaskExample("a", "Q", "7"), TaskExample("b", "Q", "5")]
    answer = Answering(config, Sources()).open(cast("WorkContext", context))
    first, second = answer(Batch("greedy", 8, examples)).lines
    told = [(line.index, line.pred, line.correct, line.correct_strict) for line in (first, second)]
    assert told == [(8, "7", True, False), (9, "5", True, True)]
    assert (first.tokens_used, first.probe_tokens_used, first.budget_used) == (4, 0, 4)
