"""The selector's losses by hand, what it draws, its file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from engine.config.pool import SelectorSection
from engine.errors import DataError
from engine.events import SelectorStep
from engine.pool.data.records import RLQueryData, TrajectoryData
from engine.pool.selector.rl_beam_dataset import RLBeamDatasetWithEmbedding
from engine.pool.selector.selector import Selector
from engine.pool.selector.training import (
    Group,
    SelectorTraining,
    policy_gradient_loss,
    recorded,
    supervised_loss,
)
from engine.pool.vqa.evaluated_pairs import EvaluatedPair
from engine.pool.vqa.vqa import VQAAsk
from tests.exactly import exactly

QUERIES, K, WIDTH = 24, 64, 8
KINDS = 4


OTHER_RUN = "resume with the original settings and data, or start a new run"


def group(probability: list[list[float]], score: list[list[float]], mask: list[list[bool]]) -> Group:
    return Group(torch.tensor(probability).log().requires_grad_(), torch.tensor(score), torch.tensor(mask))


# ---------------------------------------------------------------- losses


def test_the_supervised_loss_by_hand() -> None:
    """Of the second query nothing scored, of the third nothing was recorded: neither counts."""
    found = group(
        [[0.2, 0.1, 0.3], [0.1, 0.1, 0.1], [0.5, 0.2, 0.1]],
        [[1.0, 0.6, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]],
        [[True, True, True], [True, True, True], [False, False, False]],
    )
    loss = supervised_loss(found)
    assert float(loss.detach()) == pytest.approx(-math.log(0.2 * 1 + 0.1 * 0.6))
    loss.backward()
    gradient = found.log_probability.grad
    assert gradient is not None and gradient.isfinite().all()
    assert gradient[0].tolist() == pytest.approx([-0.2 / 0.26, -0.06 / 0.26, 0])
    assert not gradient[1:].any()


def test_the_policy_gradient_by_hand() -> None:
    """Weights: probability within the group times score minus the group's expected score."""
    found = group(
        [[0.2, 0.1, 0.1, 0.5], [0.3, 0.1, 0.2, 0.1]],
        [[1.0, 0.6, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]],
        [[True, True, True, False], [True, True, True, True]],
    )
    expected = 0.5 * 1 + 0.25 * 0.6
    assert found.expected_score().tolist() == pytest.approx([expected, 0])
    policy_gradient_loss(found).backward()
    gradient = found.log_probability.grad
    assert gradient is not None
    weights = [0.5 * (1 - expected), 0.25 * (0.6 - expected), 0.25 * (0 - expected), 0]
    assert (-2 * gradient[0]).tolist() == pytest.approx(weights)
    assert not gradient[1].any(), "where all are equally right there is nothing to prefer"


def test_the_policy_gradient_is_that_of_the_expected_score() -> None:
    torch.manual_seed(0)
    log_probability = torch.randn(5, 7, dtype=torch.double)
    score, mask = torch.rand(5, 7, dtype=torch.double), torch.rand(5, 7) < 0.7
    mask[3] = False
    gradients = []
    for loss in (policy_gradient_loss, lambda found: -found.expected_score().mean()):
        leaf = log_probability.clone().requires_grad_()
        loss(Group(leaf, score, mask)).backward()
        assert leaf.grad is not None
        gradients.append(leaf.grad)
    assert torch.allclose(gradients[0], gradients[1], atol=1e-12)
    assert not gradients[0][3].any()


def test_a_batch_without_any_trajectory_moves_nothing() -> None:
    empty = Group(
        torch.zeros(2, 0, requires_grad=True), torch.zeros(2, 0), torch.zeros(2, 0, dtype=torch.bool)
    )
    for loss in (supervised_loss, policy_gradient_loss):
        assert float(loss(empty).detach()) == 0


# ---------------------------------------------------------------- data and training


class World:
    """Rows of four kinds and queries of the same kinds; a pair is right if both are of the query's kind. The kind
    stands in four numbers of eight; the four others are larger, and mislead similarity."""

    def __init__(self) -> None:
        draws = np.random.default_rng(0)
        self.kinds = np.arange(256) % KINDS
        self.table = self._rows(self.kinds, draws)
        self.query_kinds = np.arange(QUERIES) % KINDS
        self.query_rows = self._rows(self.query_kinds, draws)
        self.asked: list[VQAAsk] = []

    def _rows(self, kinds: NDArray[Any], draws: np.random.Generator) -> NDArray[np.float32]:
        noise = draws.normal(size=(len(kinds), WIDTH - KINDS)) * 1.5
        return np.concatenate([np.eye(KINDS)[kinds], noise], axis=1).astype(np.float32)

    def query_embedding(self, query_id: str) -> NDArray[np.float32]:
        return self.query_rows[int(query_id)]

    def score(self, query_id: str, pair: tuple[int, int]) -> float:
        return float(np.mean(self.kinds[list(pair)] == self.query_kinds[int(query_id)]) == 1)

    def ask(self, asks: Sequence[VQAAsk]) -> list[EvaluatedPair]:
        self.asked += asks
        return [
            EvaluatedPair(
                query_id=ask.query_id,
                pair=ask.demonstrations,
                model="world",
                answer="x",
                score=self.score(ask.query_id, ask.demonstrations),
            )
            for ask in asks
        ]

    def data(self) -> RLBeamDatasetWithEmbedding:
        queries: dict[str, RLQueryData] = {}
        for number in range(QUERIES):
            draws = np.random.default_rng(number)
            pool = draws.permutation(256)[:K].tolist()
            own = [place for place, row in enumerate(pool) if self.kinds[row] == self.query_kinds[number]]
            pointers = [draws.choice(own, 2, replace=False).tolist() for _ in range(3)]
            pointers += [draws.choice(K, 2, replace=False).tolist() for _ in range(5)]
            pointers += [pointers[0], [9, 9]]
            found = []
            for first, last in pointers:
                score = self.score(str(number), (pool[first], pool[last]))
                found.append(
                    TrajectoryData(
                        pointer=[first, last], vqa_correct=int(score), vqa_acc_score=score, gen_method="beam"
                    )
                )
            queries[str(number)] = RLQueryData(
                query_id=str(number), candidate_pool_indices=pool, pointer_candidates=found
            )
        return RLBeamDatasetWithEmbedding(queries, self.table, query_embedding=self.query_embedding)


class Small(SelectorSection):
    hidden: ClassVar[int] = 16
    batch_size: ClassVar[int] = 8


class Wild(Small):
    learning_rate: ClassVar[float] = 1e30


def training(
    world: World, path: Path, ask: Any = None, run_seed: int = 0, kind: type[Small] = Small, **changes: Any
) -> SelectorTraining:
    section = kind(**{"supervised_steps": 30, "policy_steps": 30, **changes})
    torch.manual_seed(7)
    selector = Selector(WIDTH, section.hidden, section.inner)
    return SelectorTraining(selector, world.data(), section, run_seed, path, ask or world.ask)


def run_to(wanted: SelectorTraining, step: int) -> list[SelectorStep]:
    return [wanted.update() for _ in range(step - wanted.step)]


def test_the_same_policy_draws_other_pairs_at_the_next_step(tmp_path: Path) -> None:
    world = World()
    made = training(world, tmp_path / "s.pt", rollouts=4)
    batch = world.data().batch(range(3))
    table = made.selector(batch.query_emb, batch.cand_emb).detach()
    draws = []
    for made.step in (0, 1, 0):
        draws.append(made._draw(batch, table, batch.beam_mask))
    assert torch.equal(draws[0], draws[2]) and not torch.equal(draws[0], draws[1])
    assert [group["weight_decay"] for group in made.optimizer.param_groups] == [0.01]


def test_policy_steps_have_a_rate_of_their_own(tmp_path: Path) -> None:
    made, used = training(World(), tmp_path / "s.pt", supervised_steps=2, policy_steps=1), []
    for _ in range(3):
        made.update()
        used.append(made.optimizer.param_groups[0]["lr"])
    assert used == [0.002, 0.002, 0.001]


def test_a_trajectory_counts_once_and_impossible_ones_not_at_all(tmp_path: Path) -> None:
    world = World()
    batch = world.data().batch([0, 1])
    found = recorded(batch, torch.zeros(2, K, K))
    assert batch.beam_mask.sum(1).tolist() == [10, 10]
    assert found.mask.sum(1).tolist() == [8, 8] and not found.mask[:, 8:].any()


def test_it_learns_what_similarity_does_not_know(tmp_path: Path) -> None:
    world = World()
    learning = training(world, tmp_path / "s.pt", supervised_steps=120, policy_steps=60, rollouts=4)
    batch = world.data().batch(range(QUERIES))

    def accuracy() -> float:
        with torch.no_grad():
            chances = learning.selector(batch.query_emb, batch.cand_emb).exp()
        rows = batch.pools.numpy()
        scores = [
            float(chances[n, i, j]) * world.score(str(n), (int(rows[n, i]), int(rows[n, j])))
            for n in range(QUERIES)
            for i in range(K)
            for j in range(K)
            if world.kinds[rows[n, i]] == world.kinds[rows[n, j]] == world.query_kinds[n]
        ]
        return sum(scores) / QUERIES

    before = accuracy()
    run_to(learning, 120)
    supervised = accuracy()
    run_to(learning, 180)
    assert before < 0.3 < 0.6 < supervised < accuracy()


def test_reports_say_what_was_taught(tmp_path: Path) -> None:
    found = run_to(training(World(), tmp_path / "s.pt", rollouts=3), 60)
    assert [report.step for report in found] == list(range(1, 61))
    assert Counter(report.phase for report in found) == {"supervised": 30, "policy_gradient": 30}
    assert {(report.pairs, report.drawn) for report in found[:30]} == {(64, 0)}
    assert {(report.pairs, report.drawn) for report in found[30:]} == {(64 + 24, 24)}
    assert all(0 <= report.expected_score <= 1 and report.gradient_norm > 0 for report in found)


def test_the_expected_score_is_the_mean_over_queries_with_a_trajectory(tmp_path: Path) -> None:
    """Two queries of four have one trajectory each, with 1.0 and 0.5; the two others have none."""
    world = World()
    queries = {
        str(number): RLQueryData(
            query_id=str(number), candidate_pool_indices=list(range(K)),
            pointer_candidates=[
                TrajectoryData(pointer=[1, 2], vqa_correct=0, vqa_acc_score=score, gen_method="x") for score in scores
            ],
        )
        for number, scores in enumerate([[1.0], [], [0.5], []])
    }  # fmt: skip
    data = RLBeamDatasetWithEmbedding(queries, world.table, query_embedding=world.query_embedding)
    section = Small(supervised_steps=1, policy_steps=0)
    report = SelectorTraining(Selector(WIDTH, 16, 8), data, section, 0, tmp_path / "s.pt", world.ask).update()
    assert (report.expected_score, report.pairs) == (0.75, 2)


def test_what_is_drawn_is_new_and_follows_the_policy(tmp_path: Path) -> None:
    """No pair twice, none that is recorded; likelier pairs come more often."""
    world = World()
    drawing = training(world, tmp_path / "s.pt", supervised_steps=0, policy_steps=1, rollouts=40)
    data = world.data()
    batch = data.batch([0, 1])
    policy = torch.randn(2, K, K).masked_fill(torch.eye(K, dtype=torch.bool), float("-inf"))
    policy = policy.flatten(1).log_softmax(1).reshape(2, K, K)
    mask = recorded(batch, policy).mask
    drawn = drawing._draw(batch, policy, mask)
    assert drawn.shape == (2, 40, 2)
    assert torch.equal(drawn, drawing._draw(batch, policy, mask)), "the same step draws the same"
    for query in range(2):
        pairs = list(map(tuple, drawn[query].tolist()))
        recorded_pairs = set(map(tuple, batch.beam_labels[query].tolist()))
        assert len(set(pairs)) == 40 and not recorded_pairs & set(pairs)
        assert all(first != last for first, last in pairs)
    one_hot = torch.full((2, K, K), -20.0)
    one_hot[:, 3, 50] = one_hot[:, 50, 3] = 0.0
    drawing.section = Small(rollouts=2)
    assert {tuple(pair) for pair in drawing._draw(batch, one_hot, mask)[0].tolist()} == {(3, 50), (50, 3)}


def test_draws_differ_from_step_to_step_and_are_asked(tmp_path: Path) -> None:
    world = World()
    run_to(training(world, tmp_path / "s.pt", supervised_steps=0, policy_steps=3, rollouts=5), 3)
    assert len(world.asked) == 3 * 8 * 5
    items = world.data()
    data = {
        str(item["query_id"]): set(item["candidate_pool_indices"].tolist())
        for item in (items[n] for n in range(len(items)))
    }
    assert all(data[ask.query_id].issuperset(ask.demonstrations) for ask in world.asked)
    other = World()
    run_to(training(other, tmp_path / "s.pt", run_seed=1, supervised_steps=0, policy_steps=3, rollouts=5), 3)
    assert other.asked != world.asked


def test_what_the_model_could_not_answer_is_no_lesson(tmp_path: Path) -> None:
    world = World()

    def failing(asks: Sequence[VQAAsk]) -> list[EvaluatedPair]:
        return [
            EvaluatedPair(
                query_id=ask.query_id, pair=ask.demonstrations, model="w", answer=None, score=None, error="no"
            )
            for ask in asks
        ]

    found = run_to(
        training(world, tmp_path / "a.pt", failing, supervised_steps=0, policy_steps=4, rollouts=5), 4
    )
    plain = run_to(training(world, tmp_path / "b.pt", supervised_steps=0, policy_steps=4, rollouts=0), 4)
    assert [report.loss for report in found] == pytest.approx([report.loss for report in plain])


# ---------------------------------------------------------------- its file


@pytest.mark.parametrize("stops", [(1, 29, 30, 31), (45,)])
def test_saved_and_gone_on_with_it_ends_with_the_same_weights(tmp_path: Path, stops: tuple[int, ...]) -> None:
    whole = training(World(), tmp_path / "whole.pt", rollouts=3)
    curve = run_to(whole, 60)
    again: list[SelectorStep] = []
    for stop in (*stops, 60):
        part = training(World(), tmp_path / "parts.pt", rollouts=3)
        part.restore()
        again += run_to(part, stop)
        part.save()
    assert again == curve
    weights = whole.selector.state_dict()
    last = training(World(), tmp_path / "parts.pt", rollouts=3)
    last.restore()
    assert last.step == 60
    assert all(torch.equal(value, weights[name]) for name, value in last.selector.state_dict().items())


def test_a_failed_question_changes_nothing(tmp_path: Path) -> None:
    def raising(asks: Sequence[VQAAsk]) -> list[EvaluatedPair]:
        raise RuntimeError("stopped")

    wanted = training(World(), tmp_path / "s.pt", raising, supervised_steps=1, rollouts=2)
    wanted.update()
    before = {name: value.clone() for name, value in wanted.selector.state_dict().items()}
    with pytest.raises(RuntimeError):
        wanted.update()
    assert wanted.step == 1
    assert all(torch.equal(value, before[name]) for name, value in wanted.selector.state_dict().items())


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"kind": Wild}, "learning_rate"), ({"policy_steps": 1}, "policy_steps"), ({"rollouts": 1}, "rollouts")],
)
def test_a_checkpoint_of_another_shape_is_named(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    training(World(), tmp_path / "s.pt").save()
    with pytest.raises(
        DataError,
        match=exactly(f"the selector's checkpoint was made with another {named} (…/s.pt): {OTHER_RUN}"),
    ):
        training(World(), tmp_path / "s.pt", **changes).restore()
    training(World(), tmp_path / "s.pt").restore()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 torn", b"no tensor"])
def test_a_broken_checkpoint_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s.pt").write_bytes(content)
    with pytest.raises(
        DataError,
        match=exactly(f"the file cannot be read as tensors and plain values: … (…/s.pt): {OTHER_RUN}"),
    ):
        training(World(), tmp_path / "s.pt").restore()


def test_growing_beyond_bounds_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    wild = training(World(), tmp_path / "s.pt", kind=Wild)
    with pytest.raises(DataError, match="scale the embeddings"):
        run_to(wild, 30)
