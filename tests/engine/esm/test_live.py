"""What a batch reports while it is still at work: decisions, answers, rollouts, in passes of the model.

One question of the batch of 16 sends the included model into a row of zeros that only the budget ends, so its answer
takes more than three times as long as the others'.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import TypeVar

import pytest

from engine.config.config import Config
from engine.config.file import load_config
from engine.esm.evaluation.eval_work import AnsweredBatch, Answering, Batch
from engine.esm.evaluation.sources import Sources
from engine.esm.mining.mine_work import Mining
from engine.events import DecisionTaken, Event, ExampleEvaluated, PairMined, RolloutEnded, RolloutsMined
from engine.lm.loading.load import EMBEDDED
from engine.lm.protocol import go_on
from engine.lm.transformers.model import TransformersModel
from engine.scale.work import WorkContext
from engine.tasks.example import TaskExample
from engine.tasks.loaders import load_task_dataset
from tests.engine.esm.test_controller import memory_of
from tests.kill_and_resume import DEMO

E = TypeVar("E", bound=Event)
ENDLESS = TaskExample("endless", "0 0 0 0 0", "0")
BATCH = [*load_task_dataset("generated", None, "dev", 15), ENDLESS]


@dataclass
class Watched:
    """A model's passes, and what was reported after how many of them."""

    model: TransformersModel
    passes: int = 0
    reported: list[tuple[int, Event]] = field(default_factory=list)

    def context(self) -> WorkContext:
        def emit(event: Event) -> None:
            self.reported.append((self.passes, event))

        return WorkContext(lambda section: self.model, lambda: None, emit)

    def at(self, kind: type[E]) -> list[tuple[int, E]]:
        """The events of a kind, with the passes before each."""
        return [(passes, event) for passes, event in self.reported if isinstance(event, kind)]


@pytest.fixture(scope="module")
def model() -> TransformersModel:
    return TransformersModel.load(str(EMBEDDED), device="cpu", dtype="float32", max_num_seqs=256)


@pytest.fixture
def watched(model: TransformersModel) -> Iterator[Watched]:
    watched = Watched(model)

    def count(mark: object, working: object) -> None:
        watched.passes += 1

    model.between = count
    yield watched
    model.between = go_on


def configured(*more: str) -> Config:
    return load_config(DEMO, ["decode.max_new_tokens=350", "online.L=2", "online.probe_tokens=4", *more])


def answered(watched: Watched, config: Config, method: str) -> AnsweredBatch:
    work = Answering(config, Sources(memory=memory_of(watched.model)))
    return work.open(watched.context())(Batch(method, 0, BATCH))


def test_a_decision_is_reported_when_its_segment_is_committed(watched: Watched) -> None:
    """The first of all, and the first decision of each of the 15, while the slowest segment is still written."""
    done = answered(watched, configured("decode.max_new_tokens=400"), "esm")
    tokens = {line.example_id: line.tokens_used for line in done.lines}
    assert tokens["endless"] == 400 >= 3 * median(tokens.values())
    decided = watched.at(DecisionTaken)
    firsts = [(passes, event) for passes, event in decided if event.m == 1]
    assert [event.example for _, event in firsts][-1] == "endless" and len(firsts) == 16
    slowest = firsts[-1][0]
    assert slowest >= 400 and all(3 * passes < slowest for passes, _ in firsts[:-1])
    assert sum(event.m > 1 for _, event in decided) > 30, "the others went on afterwards"


def test_the_log_says_what_the_lines_say(watched: Watched) -> None:
    """Each decision once, in the order of its answer's segments; then the answer, when its last decision is taken."""
    done = answered(watched, configured("decode.max_new_tokens=120"), "esm")
    steered = 0
    for line in done.lines:
        mine = [e for _, e in watched.reported if getattr(e, "example", "") == line.example_id]
        *decisions, answer = mine
        assert isinstance(answer, ExampleEvaluated)
        assert [(d.m, d.chosen, d.score) for d in decisions if isinstance(d, DecisionTaken)] == [
            (step.m, step.chosen, step.score) for step in line.steps
        ]
        assert (answer.text, answer.decisions, answer.index) == (line.text, len(decisions), line.index)
        assert "".join(d.segment for d in decisions if isinstance(d, DecisionTaken)) == line.text
        for decision in decisions:
            assert isinstance(decision, DecisionTaken)
            steered += decision.chosen is not None
            assert (decision.null_segment is not None) == (decision.chosen is not None), "record_null"
    assert steered > 10
    assert [line.index for line in done.lines] == list(range(16)), "lines stay in order"


@pytest.mark.parametrize(("method", "count"), [("greedy", 16), ("majority_vote", 16)])
def test_an_answer_is_reported_when_it_has_ended(watched: Watched, method: str, count: int) -> None:
    done = answered(watched, configured("eval.votes=2", "offline_mine.temperature=0.2"), method)
    ended = watched.at(ExampleEvaluated)
    assert len(ended) == count and len(done.lines) == count
    assert ended[-1][1].example == "endless"
    assert median(passes for passes, _ in ended) * 3 < ended[-1][0]


def test_a_rollout_is_reported_when_it_has_ended(watched: Watched) -> None:
    """With its draw, before the batch is through; the lines of the batch say the same."""
    config = configured(
        "offline_mine.K=2", "offline_mine.K_pos=1", "offline_mine.K_neg=1", "offline_mine.temperature=0.2",
        "offline_mine.max_new_tokens=350", "offline_mine.verify=false",
    )  # fmt: skip
    mined = Mining(config).open(watched.context())(BATCH)
    ended = watched.at(RolloutEnded)
    slowest = max(passes for passes, event in ended if event.example == "endless")
    assert median(passes for passes, _ in ended) * 3 < slowest
    by_draw = {(event.example, event.draw): event for _, event in ended}
    assert len(by_draw) == len(ended) == 32
    for example in mined:
        for draw, rollout in enumerate(example.line["rollouts"]):
            event = by_draw[example.line["example_id"], draw]
            assert (event.correct, event.reward, event.tokens, event.segments, event.pred) == (
                rollout["correct"], rollout["reward"], rollout["tokens"], rollout["segments"], rollout["pred"],
            )  # fmt: skip


MINED = ("offline_mine.K=4", "offline_mine.max_new_tokens=400", "offline_mine.verify=false")


def test_a_pair_is_reported_with_the_last_rollout_of_its_example(watched: Watched) -> None:
    """While the slowest answer of the batch is still written; the lines of the batch say the same."""
    mined = Mining(configured(*MINED)).open(watched.context())(BATCH)
    ended = watched.at(RolloutEnded)
    tokens = sorted(event.tokens for _, event in ended)
    assert tokens[-1] == 400 >= 3 * median(tokens)
    last = {event.example: passes for passes, event in ended}
    pairs = watched.at(PairMined)
    assert len(pairs) > 20 and all(passes == last[event.example] for passes, event in pairs)
    assert 3 * pairs[0][0] < ended[-1][0]
    assert [event.pair for one in mined for event in reported(watched, one.line["example_id"])] == [
        pair.record["pair_id"] for one in mined for pair in one.pairs
    ]
    assert {event.steered_correct for _, event in pairs} == {None}


def reported(watched: Watched, example: str) -> list[PairMined]:
    return [event for _, event in watched.at(PairMined) if event.example == example]


def test_an_example_s_question_is_in_the_log_before_its_pairs(watched: Watched) -> None:
    mined = Mining(configured(*MINED)).open(watched.context())(BATCH[:4])
    for one in mined:
        name = one.line["example_id"]
        kinds = [type(event) for _, event in watched.reported if getattr(event, "example", "") == name]
        assert kinds == [RolloutEnded] * 4 + [RolloutsMined] + [PairMined] * len(one.pairs)
    whole = {event.example: event for _, event in watched.at(RolloutsMined)}
    for one in mined:
        event, rollouts = whole[one.line["example_id"]], one.line["rollouts"]
        assert (event.n, event.correct, event.pairs) == (
            4,
            sum(r["correct"] for r in rollouts),
            len(one.pairs),
        )
        assert event.mean_tokens == sum(r["tokens"] for r in rollouts) / 4
        assert event.segments == [r["segments"] for r in rollouts]
    assert sum(len(one.pairs) for one in mined) > 3


def test_a_verified_pair_is_reported_again_when_its_answers_have_ended(watched: Watched) -> None:
    """Once when it is found, without outcomes, and once with them; some of them while others are still tried out."""
    settings = ("offline_mine.K=4", "offline_mine.max_new_tokens=300", "offline_mine.verify=true")
    mined = Mining(configured(*settings)).open(watched.context())(BATCH)
    events = watched.at(PairMined)
    found = [event for _, event in events if event.steered_correct is None]
    tried = [(passes, event) for passes, event in events if event.steered_correct is not None]
    spent = [one.tokens - sum(rollout["tokens"] for rollout in one.line["rollouts"]) for one in mined]
    assert spent[0] > 1000 and not any(spent[1:]), "what trying out took is counted once a batch"
    records = {pair.record["pair_id"]: pair.record for one in mined for pair in one.pairs}
    assert len(found) == len(tried) == len(records) > 20
    for _, event in tried:
        record = records[event.pair]
        assert (event.steered_correct, event.wrong_correct, event.right_correct) == (
            record["steered_correct"], record["wrong_correct"], record["right_correct"],
        )  # fmt: skip
    assert tried[0][0] < tried[-1][0], "all were reported at the end"
