"""What each method picks for held-out queries, and how the methods are compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from engine.errors import DataError
from engine.pool.data.dataset import Image
from engine.pool.data.records import RLQueryData
from engine.pool.selector.comparison import compare
from engine.pool.selector.heldout import HeldOut
from engine.pool.selector.selector import Selector
from engine.pool.vqa.evaluated_pairs import EvaluatedPair, PairEvaluator
from engine.statistics import paired_bootstrap
from tests.engine.pool.vqa_models import ANNOTATIONS, TableModel
from tests.exactly import exactly

ROWS, WIDTH = 100, 6
NAMES = [f"q{number}" for number in range(5)]


class Data:
    """A table and queries without pictures."""

    def __init__(self) -> None:
        self.embeddings = np.random.default_rng(0).normal(size=(ROWS, WIDTH)).astype(np.float32)
        self.splits = {"train": [], "heldout": NAMES}
        self.query_ids = NAMES

    def query_embedding(self, query_id: str) -> NDArray[Any]:
        return np.random.default_rng(int(query_id[1:]) + 1).normal(size=WIDTH).astype(np.float32)

    def question(self, query_id: str) -> str:
        return "?"

    def annotations(self, query_id: str) -> list[str]:
        return ANNOTATIONS

    def query_image(self, query_id: str) -> Image:
        return None

    def excluded(self, query_id: str) -> list[int]:
        return []

    def demonstration(self, row: int) -> tuple[str, str]:
        return "?", "!"

    def image(self, row: int) -> Image:
        return None


def hard(name: str, pair: tuple[int, int]) -> str | None:
    """q0: any pair is right; else pairs of one sum."""
    return "right" if name == "q0" or sum(pair) % 23 == 0 else "wrong"


def heldout(folder: Path, model: TableModel) -> HeldOut:
    data = Data()
    queries = {
        name: RLQueryData(
            query_id=name,
            candidate_pool_indices=np.random.default_rng(n + 50).permutation(ROWS)[:64].tolist(),
            pointer_candidates=[],
        )
        for n, name in enumerate(NAMES)
    }
    evaluator = PairEvaluator(folder / "evaluated.jsonl", model, data.annotations)
    return HeldOut(queries, data, evaluator, 0, lambda: None)


def test_rices_takes_the_two_most_similar_and_puts_the_more_similar_one_last(tmp_path: Path) -> None:
    data, held = Data(), heldout(tmp_path, TableModel(hard))
    for name, (pair,) in held.rices().pairs.items():
        pool, query = held.queries[name].candidate_pool_indices, data.query_embedding(name)
        cosine = {
            row: data.embeddings[row] @ query / np.linalg.norm(data.embeddings[row]) / np.linalg.norm(query)
            for row in pool
        }
        best = sorted(pool, key=lambda row: -cosine[row])
        assert pair == (best[1], best[0])


def test_of_equally_similar_candidates_those_that_come_first_in_the_pool_are_taken(tmp_path: Path) -> None:
    held = heldout(tmp_path, TableModel(hard))
    for seed in range(20):
        near = np.random.default_rng(seed).integers(0, 5, ROWS)
        held.dataset.embeddings = np.eye(WIDTH, dtype=np.float32)[near]  # type: ignore[misc]
        for name, (pair,) in held.rices().pairs.items():
            query = held.dataset.query_embedding(name)
            pool = held.queries[name].candidate_pool_indices
            first, second, *_ = sorted(pool, key=lambda row: -query[near[row]])
            assert pair == (second, first)


def test_random_pairs_are_of_the_pool_and_the_same_every_time(tmp_path: Path) -> None:
    held = heldout(tmp_path, TableModel(hard))
    found = held.random(6).pairs
    assert found == held.random(6).pairs
    for name, pairs in found.items():
        assert len(pairs) == 6 and len(set(pairs)) > 3
        assert all(first != last for first, last in pairs)
        assert set(held.queries[name].candidate_pool_indices).issuperset(
            row for pair in pairs for row in pair
        )


def test_each_query_has_random_places_of_its_own(tmp_path: Path) -> None:
    held = heldout(tmp_path, TableModel(hard))
    places = set()
    for name, pairs in held.random(6).pairs.items():
        pool = held.queries[name].candidate_pool_indices
        places.add(tuple((pool.index(first), pool.index(last)) for first, last in pairs))
    assert len(places) == len(NAMES)


def test_the_selector_picks_its_likeliest_pair(tmp_path: Path) -> None:
    held, data = heldout(tmp_path, TableModel(hard)), Data()
    torch.manual_seed(0)
    network = Selector(WIDTH, 8, 16)
    picked = held.selector(network)
    for name, query in held.queries.items():
        pool = query.candidate_pool_indices
        embeddings = torch.from_numpy(data.embeddings[pool])[None]
        with torch.no_grad():
            chances = network(torch.from_numpy(data.query_embedding(name))[None], embeddings)[0].exp()
        (pair,) = picked.pairs[name]
        assert picked.probability[name] == pytest.approx(float(chances.max()), rel=1e-4)
        assert float(chances[pool.index(pair[0]), pool.index(pair[1])]) == pytest.approx(float(chances.max()))


def test_queries_of_several_batches_are_picked_for_as_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, checks = heldout(tmp_path, TableModel(hard)), list[int]()
    held.checkpoint = lambda: checks.append(1)
    torch.manual_seed(0)
    network = Selector(WIDTH, 8, 16)
    whole = held.selector(network)
    monkeypatch.setattr("engine.pool.selector.heldout._AT_ONCE", 2)
    parts = held.selector(network)
    assert list(parts.pairs) == NAMES and parts.pairs == whole.pairs
    assert list(parts.probability.values()) == pytest.approx(list(whole.probability.values()))
    assert len(checks) == 1 + 3


def test_no_pair_is_asked_twice_by_all_methods_and_resumes(tmp_path: Path) -> None:
    model = TableModel(hard)
    for _ in range(2):
        held = heldout(tmp_path, model)
        for picked in (held.random(4), held.rices(), held.selector(Selector(WIDTH, 8, 16))):
            held.scored(picked)
        torch.manual_seed(0)
    asks = [(ask.query_id, ask.demonstrations) for ask in model.asked]
    assert len(asks) == len(set(asks))


# ---------------------------------------------------------------- the comparison


def pairs(*scores: float | None) -> list[EvaluatedPair]:
    return [EvaluatedPair(query_id="q", pair=(0, 1), model="m", answer="a", score=score) for score in scores]


def by_query(*scores: float | None) -> dict[str, list[EvaluatedPair]]:
    return {f"q{number}": pairs(score) for number, score in enumerate(scores)}


def test_rows_by_hand() -> None:
    rices = [0.0, 0.3, 1.0, 1.0, 0.0, 0.6] * 5
    selector = [1.0, 1.0, 1.0, 0.0, 1.0, 0.6] * 5
    found = {
        "rices": by_query(*rices),
        "selector": by_query(*selector),
        "random": {f"q{number}": pairs(1.0, 0.0, 0.3, 0.3) for number in range(30)},
    }
    rows = {row.method: row for row in compare(found, run_seed=3)}
    assert list(rows) == ["rices", "selector", "random"]
    assert rows["rices"].accuracy == pytest.approx(sum(rices) / 30)
    assert rows["rices"].difference is None and rows["rices"].n == 30 and rows["rices"].failed == 0
    own = rows["selector"]
    assert own.difference == pytest.approx((sum(selector) - sum(rices)) / 30)
    assert own.low < own.accuracy < own.high
    assert own.difference_low is not None and own.difference_high is not None
    other = paired_bootstrap(selector, rices, seed=11)
    assert own.difference_low == pytest.approx(other.low, abs=0.03)
    assert own.difference_high == pytest.approx(other.high, abs=0.03)
    drawn = rows["random"]
    assert drawn.accuracy == pytest.approx(0.4) and drawn.low == drawn.high == pytest.approx(0.4)
    assert drawn.asked == 120 and drawn.difference is not None


def test_a_query_that_failed_for_one_method_counts_for_none() -> None:
    found = {"rices": by_query(1.0, None, 0.0, 1.0, 0.5), "selector": by_query(1.0, 1.0, 1.0, None, 0.0)}
    rows = {row.method: row for row in compare(found, 0)}
    assert {row.n for row in rows.values()} == {3} and {row.failed for row in rows.values()} == {2}
    assert rows["rices"].accuracy == 0.5 and rows["selector"].accuracy == pytest.approx(2 / 3)


def test_a_method_without_a_pick_counts_as_failed() -> None:
    found = {"rices": by_query(1.0, 1.0), "random": {"q0": pairs(1.0)}}
    assert {row.n for row in compare(found, 0)} == {1}


def test_no_query_that_every_method_has_an_answer_for_is_an_error() -> None:
    """The first has an answer for the second query, the other for none: that is not a model that answers nothing."""
    with pytest.raises(
        DataError,
        match=exactly(
            "no held-out query was answered for every method: rices 1 of 3, random 0 of 3 (pool.vqa): see the errors "
            "in pool/evaluated.jsonl"
        ),
    ):
        partly = by_query(1.0, None, None) | {"q0": pairs(1.0, None)}
        compare({"rices": by_query(None, 1.0, None), "random": partly}, 0)
