"""What is said of a query that was settled."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.events import PoolQueryDone
from engine.pool.data.dataset import majority
from engine.pool.data.digits import DigitsDataset
from engine.pool.data.records import POOL_SIZE, RLQueryData
from engine.pool.pool_work import QueryMiner, _warning
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
    assert (done.asked, done.failed) == (6, 2)
