"""Mining: pairs by similarity, each asked once, whatever happens in between."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.errors import DataError
from engine.pool.global_positive_miner import GlobalPositiveMiner, ranked_pairs
from engine.pool.vqa import evaluated_pairs
from engine.pool.vqa.evaluated_pairs import PairEvaluator
from engine.pool.vqa.vqa import VQAAsk
from engine.run.gate import StopRequested
from tests.engine.pool.vqa_models import ANNOTATIONS, TableModel
from tests.exactly import exactly

TABLE = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
QUERY = np.ones(4, dtype=np.float32)
NEAREST = np.argsort(-(TABLE @ QUERY) / np.linalg.norm(TABLE, axis=1), kind="stable").tolist()


def evaluator(path: Path, model: TableModel) -> PairEvaluator:
    return PairEvaluator(path / "evaluated.jsonl", model, lambda query_id: ANNOTATIONS)


class Queries:
    """Every query has the same embedding and annotations, and no row of its own."""

    def query_embedding(self, query_id: str) -> NDArray[np.float32]:
        return QUERY

    def annotations(self, query_id: str) -> list[str]:
        return list(ANNOTATIONS)

    def excluded(self, query_id: str) -> list[int]:
        return []


def miner_of(path: Path, model: TableModel, *limits: int, **settings: int) -> GlobalPositiveMiner:
    """A miner that keeps its pairs in a file, and remembers those of the file."""
    queries: Any = Queries()
    return GlobalPositiveMiner(TABLE, model, queries, *limits, evaluator=evaluator(path, model), **settings)


def nothing() -> None:
    pass


@given(
    st.lists(st.integers(0, 6), min_size=0, max_size=14),
    st.integers(0, 40),
    st.sets(st.tuples(st.integers(0, 13), st.integers(0, 13)), max_size=10),
)
def test_pairs_are_those_of_a_full_sort(scores: list[int], most: int, known: set[tuple[int, int]]):
    """Among all pairs, not only of the rows that the short cut looks at."""
    similarity = sorted((score / 10 for score in scores), reverse=True)
    rows = list(range(len(scores)))
    pairs = sorted(
        combinations(rows, 2), key=lambda pair: (-(similarity[pair[0]] + similarity[pair[1]]), pair)
    )
    expected = [(last, first) for first, last in pairs if (last, first) not in known][:most]
    assert ranked_pairs(rows, similarity, most, frozenset(known)) == expected


def test_the_table_is_searched_as_far_as_wanted_and_no_further(tmp_path: Path):
    model = TableModel(lambda query_id, pair: "wrong")
    miner = miner_of(tmp_path, model, 5, 50, batch_size=4)
    found = miner.evaluate_pairs("7", NEAREST, frozenset({(NEAREST[1], NEAREST[0])}))
    assert {frozenset(one.pair) for one in found} == set(map(frozenset, combinations(NEAREST[:5], 2))) - {
        frozenset(NEAREST[:2])
    }
    assert [len(batch) for batch in model.batches] == [4, 4, 1]
    few = miner_of(tmp_path, model, 5, 3)
    assert few.evaluate_pairs("8", NEAREST)[0].pair == (NEAREST[1], NEAREST[0])
    assert len(model.batches[-1]) == 3


def test_no_pair_is_asked_twice_however_often_it_is_stopped(tmp_path: Path):
    model = TableModel(lambda query_id, pair: "nearly" if sum(pair) % 3 else None)
    expected = miner_of(tmp_path / "whole", model, batch_size=7).evaluate_pairs("7", NEAREST)
    stopped = TableModel(lambda query_id, pair: "nearly" if sum(pair) % 3 else None)
    for allowed in range(0, 20, 2):
        left = iter(range(allowed))

        def checkpoint(left: object = left) -> None:
            if next(left, None) is None:  # type: ignore[call-overload]
                raise StopRequested

        miner = miner_of(tmp_path, stopped, batch_size=7)
        try:
            found = miner.evaluate_pairs("7", NEAREST, checkpoint=checkpoint)
        except StopRequested:
            continue
        assert found == expected
    assert len(stopped.asked) == len(set(stopped.asked)) == 50
    lines = (tmp_path / "evaluated.jsonl").read_text().splitlines()
    assert [json.loads(line)["pair"] for line in lines] == [list(one.pair) for one in expected]


def test_it_can_be_paused_between_batches_that_need_no_asking(tmp_path: Path):
    model, seen = TableModel(lambda query_id, pair: "wrong"), [0]

    def checkpoint() -> None:
        seen[0] += 1

    for _ in range(2):
        seen[0] = 0
        miner = miner_of(tmp_path, model, 300, 30, batch_size=10)
        miner.evaluate_pairs("7", NEAREST, checkpoint=checkpoint)
    assert len(model.asked) == 30 and seen[0] == 3


def test_it_can_be_paused_while_a_batch_is_asked() -> None:
    seen: list[object] = []

    def evaluate(asks: object, checkpoint: object) -> list[object]:
        seen.append(checkpoint)
        return []

    queries: Any = Queries()
    asking: Any = SimpleNamespace(evaluate=evaluate)
    model = TableModel(lambda query_id, pair: "wrong")
    miner = GlobalPositiveMiner(TABLE, model, queries, 300, 30, batch_size=10, evaluator=asking)
    miner.evaluate_pairs("7", NEAREST, checkpoint=nothing)
    assert seen == [nothing] * 3


def test_the_table_may_be_a_tensor_with_a_gradient(tmp_path: Path):
    model = TableModel(lambda query_id, pair: "right")
    queries: Any = Queries()
    scores = []
    for table in (TABLE, torch.tensor(TABLE, requires_grad=True)):
        miner = GlobalPositiveMiner(table, model, queries, 10, 5, evaluator=evaluator(tmp_path, model))
        scores.append(miner.mine_positives_for_query("7", NEAREST))
    assert scores[0] == scores[1] and len(scores[0]) == 5


def test_a_torn_line_is_asked_again_and_the_others_are_not(tmp_path: Path):
    asks = [VQAAsk("7", (0, number)) for number in range(1, 5)]
    first = TableModel(lambda query_id, pair: "right")
    evaluator(tmp_path, first).evaluate(asks, nothing)
    path = tmp_path / "evaluated.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    again = TableModel(lambda query_id, pair: "right")
    found = evaluator(tmp_path, again).evaluate(asks, nothing)
    assert [ask.demonstrations for ask in again.asked] == [(0, 4)]
    assert [one.pair for one in found] == [(0, 1), (0, 2), (0, 3), (0, 4)]


def test_replies_are_written_every_half_second_and_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five replies, 0.3 s apart: the second and the fourth come more than half a second after the last writing."""
    path, now, on_disk = tmp_path / "evaluated.jsonl", [0.0], list[int]()
    monkeypatch.setattr(evaluated_pairs, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def reply(query_id: str, pair: tuple[int, int]) -> str:
        now[0] += 0.3
        return "right"

    def report(pair: object) -> None:
        on_disk.append(len(path.read_text().splitlines()) if path.exists() else 0)

    asking = PairEvaluator(path, TableModel(reply), lambda query_id: ANNOTATIONS, report)
    asking.evaluate([VQAAsk("7", (0, number)) for number in range(1, 6)], nothing)
    assert on_disk == [0, 0, 2, 2, 4]
    assert [json.loads(line)["pair"][1] for line in path.read_text().splitlines()] == [1, 2, 3, 4, 5]


def test_the_order_within_a_pair_is_another_pair(tmp_path: Path):
    model = TableModel(lambda query_id, pair: "right" if pair == (1, 2) else "wrong")
    asked = evaluator(tmp_path, model)
    found = asked.evaluate([VQAAsk("7", (1, 2)), VQAAsk("7", (2, 1)), VQAAsk("7", (1, 2))], nothing)
    assert [one.score for one in found] == [1.0, 0.0, 1.0]
    assert len(model.asked) == 2
    assert set(asked.known("7")) == {(1, 2), (2, 1)} and asked.known("8") == {}


def test_a_failed_ask_is_kept_as_failed_not_as_wrong(tmp_path: Path):
    (found,) = evaluator(tmp_path, TableModel(lambda query_id, pair: None)).evaluate(
        [VQAAsk("7", (1, 2))], nothing
    )
    assert found.score is None and found.error == "no answer" and found.cost == 0.5


def test_replies_of_another_model_are_named(tmp_path: Path):
    evaluator(tmp_path, TableModel(lambda query_id, pair: "right", "one")).evaluate(
        [VQAAsk("7", (1, 2))], nothing
    )
    with pytest.raises(
        DataError,
        match=exactly(
            "this pair was answered by 'one', this run asks 'other' (…/evaluated.jsonl:1): remove the file (its "
            "pairs are asked again), or start a new run"
        ),
    ):
        evaluator(tmp_path, TableModel(lambda query_id, pair: "right", "other"))
    (tmp_path / "evaluated.jsonl").write_text('{"pair": [1]}\n')
    with pytest.raises(DataError, match="`pair`: expected array of length 2, got 1"):
        evaluator(tmp_path, TableModel(lambda query_id, pair: "right"))


def test_where_the_best_pairs_are_known_the_next_rows_are_looked_at():
    """Rows by falling similarity: 50, 60, 70, 80."""
    similarity = [0.9, 0.8, 0.7, 0.6]
    known = frozenset({(60, 50)})
    assert ranked_pairs([50, 60, 70, 80], similarity, 1, known) == [(70, 50)]
    known |= {(70, 50)}
    assert ranked_pairs([50, 60, 70, 80], similarity, 2, known) == [(80, 50), (70, 60)]


def test_a_table_smaller_than_the_search_is_searched_as_a_whole(tmp_path: Path) -> None:
    """Of its pairs those with a score come back, and none with the query's own row."""
    said = {frozenset((NEAREST[0], NEAREST[2])): "right", frozenset(NEAREST[3:5]): "nearly"}
    model = TableModel(lambda query_id, pair: said.get(frozenset(pair), "wrong"))
    for search in (39, 40, 50):
        miner = miner_of(tmp_path, model, search, 10_000)
        miner._dataset.excluded = lambda query_id: [NEAREST[1]]  # type: ignore[method-assign]
        assert miner.mine_positives_for_query(7, []) == [
            {"global_indices": [NEAREST[2], NEAREST[0]], "acc_score": 1.0},
            {"global_indices": [NEAREST[4], NEAREST[3]], "acc_score": pytest.approx(0.6)},
        ]
    assert len({one for batch in model.batches for one in batch}) == 39 * 38 // 2
