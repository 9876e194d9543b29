"""What is said of a query that was settled."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.events import PoolQueryDone
from engine.pool.data.dataset import majority
from engine.pool.data.digits import DigitsDataset
from engine.pool.data.records import POOL_SIZE, RLQueryData, TrajectoryData
from engine.pool.pool_work import QueryMiner, _warning
from engine.pool.trajectory_quality_controller import TrajectoryQualityController
from engine.pool.vqa.evaluated_pairs import PairEvaluator
from tests.engine.pool.small_run import context_of
from tests.engine.pool.vqa_models import TableModel


@pytest.mark.parametrize(
    ("injected", "before", "after", "said"),
    [
        (2, 0.6, 0.6, "injection did not raise oracle@64"),
        (2, 1.0, 1.0, "injection did not raise oracle@64"),
        (2, 0.3, 0.6, "no pair is known that is fully right"),
        (2, 0.6, 1.0, ""),
        (0, 0.6, 0.6, "no pair is known that is fully right"),
        (0, 1.0, 1.0, ""),
    ],
)
def test_an_injection_that_leaves_the_best_score_as_it_was_is_a_warning(
    injected: int, before: float, after: float, said: str
) -> None:
    injection = SimpleNamespace(injected=injected)
    improved: Any = SimpleNamespace(injection=injection, oracle_before=before, oracle_after=after)
    assert _warning(improved) == said


def test_what_failed_is_no_wrong_answer_and_the_pool_is_counted_as_given(tmp_path: Path) -> None:
    told: list[Any] = []
    context = context_of(tmp_path, told.append, lambda: None, max_eval_pairs=6)
    data, name = DigitsDataset(0), "train-0000"
    replies = iter([majority(data.annotations(name)), "nothing", "nothing", None, "nothing", None])
    model = TableModel(lambda query, pair: next(replies))
    miner = QueryMiner(context, data, model, PairEvaluator(None, model, data.annotations))
    query = RLQueryData(query_id=name, candidate_pool_indices=[5, 6, 7], pointer_candidates=[])
    nearest = [row for row in range(200) if row not in data.excluded(name)]
    assert miner.settle(query, nearest).left_out == ""
    (done,) = [event for event in told if isinstance(event, PoolQueryDone)]
    assert (done.given_pool, len(done.pool_before)) == (3, POOL_SIZE)
    assert (done.asked, done.failed, done.filled, done.cut) == (6, 2, POOL_SIZE - 3, 0)


def test_a_large_pool_is_cut_and_each_candidate_has_its_cosine_with_the_query(tmp_path: Path) -> None:
    told: list[Any] = []
    context = context_of(tmp_path, told.append, lambda: None, max_eval_pairs=1)
    data, name = DigitsDataset(0, demonstrations=100, train=1, heldout=0), "train-0000"
    model = TableModel(lambda query, pair: majority(data.annotations(name)))
    miner = QueryMiner(context, data, model, PairEvaluator(None, model, data.annotations))
    pool = [*range(70), 7, 8]
    miner.settle(RLQueryData(query_id=name, candidate_pool_indices=pool, pointer_candidates=[]), [70, 71, 72])
    (done,) = [event for event in told if isinstance(event, PoolQueryDone)]
    assert (done.given_pool, done.filled, done.cut) == (72, 0, 6)
    assert done.dropped == {"candidate: twice in the pool": 2}
    rows, query = data.embeddings[done.pool_after], data.query_embedding(name)
    cosine = rows @ query / np.linalg.norm(rows, axis=1) / np.linalg.norm(query)
    assert done.similarity == [round(one, 4) for one in done.similarity]
    assert done.similarity == pytest.approx(cosine.tolist(), abs=6e-5)


@pytest.mark.parametrize(("failed", "asked"), [(True, [(5, 4)]), (False, [(6, 4)])])
def test_a_given_pair_without_a_score_is_asked(tmp_path: Path, failed: bool, asked: list[Any]) -> None:
    """Of the rows 4, 5 and 6, the most similar first, the best pair is 5 with 4, and the next one 6 with 4."""
    context = context_of(tmp_path, lambda event: None, lambda: None, max_eval_pairs=1)
    data, name = DigitsDataset(0, demonstrations=100, train=1, heldout=0), "train-0000"
    order = np.argsort(-data.embeddings @ data.query_embedding(name), kind="stable").tolist()
    row = {4: order[0], 5: order[1], 6: order[2]}
    model = TableModel(lambda query, pair: "nothing")
    miner = QueryMiner(context, data, model, PairEvaluator(None, model, data.annotations))
    given = TrajectoryData(
        pointer=[1, 0], vqa_correct=0, vqa_acc_score=0.0, gen_method="beam", extra={"eval_failed": failed}
    )
    query = RLQueryData(query_id=name, candidate_pool_indices=order[:64], pointer_candidates=[given])
    miner.settle(query, order)
    assert [ask.demonstrations for ask in model.asked] == [(row[first], row[last]) for first, last in asked]


def test_a_query_is_settled_with_the_run_s_settings(tmp_path: Path) -> None:
    """Each differs from what its part has by itself."""
    settings = {
        "target_trajectory_count": 9, "positive_quota": 3, "partial_quota": 1, "fill_with_refused": True,
        "max_inject_per_query": 5, "search_top_k": 90, "max_eval_pairs": 30, "batch_size": 7,
    }  # fmt: skip
    context = context_of(tmp_path, lambda event: None, lambda: None, **settings)
    dataset: Any = SimpleNamespace(embeddings=np.ones((3, 2), dtype=np.float32), annotations=None)
    evaluator = PairEvaluator(None, TableModel(lambda query_id, pair: "wrong"), lambda name: [])
    queries = QueryMiner(context, dataset, TableModel(lambda query_id, pair: "wrong"), evaluator)
    assert queries.controller == TrajectoryQualityController(9, 3, 1, fill_with_refused=True)
    assert queries.injector.max_inject_per_query == 5
    miner = queries.miner
    assert (miner.search_top_k, miner.max_eval_pairs, miner.batch_size) == (90, 30, 7)
    assert miner._evaluator is evaluator
