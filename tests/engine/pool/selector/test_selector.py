"""What a selector trains on, and the selector's own mathematics."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader

from engine.errors import DataError
from engine.pool.data.records import RLQueryData, TrajectoryData
from engine.pool.selector.rl_beam_dataset import RLBeamDatasetWithEmbedding, collate
from engine.pool.selector.selector import Selector, best_pairs, pairs_log_probability
from tests.exactly import exactly

ROWS, WIDTH = 90, 12


class Embedded:
    """Queries whose embedding is drawn from their id."""

    def query_embedding(self, query_id: str) -> NDArray[Any]:
        return np.random.default_rng(int(query_id)).normal(size=WIDTH).astype(np.float32)


def table() -> NDArray[np.float32]:
    return np.random.default_rng(0).normal(size=(ROWS, WIDTH)).astype(np.float32)


def trajectory(first: int, last: int, score: float, **extra: Any) -> TrajectoryData:
    return TrajectoryData(
        pointer=[first, last],
        vqa_correct=int(score == 1),
        vqa_acc_score=score,
        gen_method="beam",
        extra=extra,
    )


def query(number: int, trajectories: list[TrajectoryData], size: int = 64) -> RLQueryData:
    pool = np.random.default_rng(number).permutation(ROWS)[:size].tolist()
    return RLQueryData(query_id=str(number), candidate_pool_indices=pool, pointer_candidates=trajectories)


def dataset(*found: RLQueryData, **changes: Any) -> RLBeamDatasetWithEmbedding:
    fields: dict[str, Any] = {
        "img_emb_data": table(),
        "query_embedding": Embedded().query_embedding,
        **changes,
    }
    return RLBeamDatasetWithEmbedding({query.name: query for query in found}, **fields)


DATA = (
    query(1, [trajectory(3, 27, 1.0), trajectory(63, 0, 0.3), trajectory(5, 6, 0.0, eval_failed=True)]),
    query(2, []),
    query(3, [trajectory(7, 7, 0.6)]),
)


# ---------------------------------------------------------------- the data set


def test_a_table_may_be_a_tensor_of_a_network_and_a_file_has_notes() -> None:
    rows = torch.arange(2.0 * ROWS).reshape(ROWS, 2).to(torch.bfloat16).requires_grad_()
    notes: Any = {"_made_by": "by hand"}
    data = RLBeamDatasetWithEmbedding({**notes, "1": query(1, [])}, rows)
    [item] = [data[number] for number in range(len(data))]
    pool = item["candidate_pool_indices"]
    assert not item["cand_emb"].requires_grad and torch.equal(item["cand_emb"], rows.detach()[pool].float())


def test_an_item_holds_the_pools_embeddings_and_local_labels() -> None:
    item = dataset(*DATA)[0]
    assert item["cand_emb"].shape == (64, WIDTH)
    assert np.array_equal(item["cand_emb"].numpy(), table()[DATA[0].candidate_pool_indices])
    assert item["candidate_pool_indices"].tolist() == DATA[0].candidate_pool_indices
    assert item["beam_labels"].tolist() == [[3, 27], [63, 0]], "what was never scored is no label"
    assert item["beam_scores"].tolist() == pytest.approx([1.0, 0.3])
    assert np.array_equal(item["query_emb"].numpy(), Embedded().query_embedding("1"))


@pytest.mark.parametrize("kind", ["tensor", "mapped", "half"])
def test_tables_of_other_kinds(kind: str, tmp_path: Path) -> None:
    given: Any = table()
    if kind == "tensor":
        given = torch.from_numpy(given)
    elif kind == "mapped":
        np.save(tmp_path / "table.npy", given)
        given = np.load(tmp_path / "table.npy", mmap_mode="r")
    else:
        given = given.astype(np.float16)
    item = dataset(*DATA, img_emb_data=given)[0]
    assert item["cand_emb"].dtype == torch.float32
    assert np.allclose(item["cand_emb"].numpy(), table()[DATA[0].candidate_pool_indices], atol=1e-2)


def test_a_loader_puts_queries_side_by_side() -> None:
    (batch,) = DataLoader(dataset(*DATA), batch_size=3, collate_fn=collate)
    assert batch.cand_emb.shape == (3, 64, WIDTH) and batch.query_emb.shape == (3, WIDTH)
    assert batch.beam_mask.tolist() == [[True, True], [False, False], [True, False]]
    assert batch.beam_labels.tolist() == [[[3, 27], [63, 0]], [[0, 0], [0, 0]], [[7, 7], [0, 0]]]
    assert batch.beam_scores[batch.beam_mask].tolist() == pytest.approx([1.0, 0.3, 0.6])
    assert batch.query_ids == ["1", "2", "3"]
    assert dataset(*DATA).batch([1]).beam_mask.shape == (1, 0)


AGAIN = "run the stage pool again: it makes every pool the same size and its pointers fit"


@pytest.mark.parametrize("size", [3, 63, 65, 80])
def test_a_pool_of_another_size_is_named(size: int) -> None:
    with pytest.raises(
        DataError, match=exactly(f"its pool has {size} candidates, not 64 (query 4): {AGAIN}")
    ):
        dataset(query(4, [], size))
    assert len(dataset(query(4, [], size), expected_pool_size=size)) == 1


@pytest.mark.parametrize("pointer", [(64, 0), (0, -1)])
def test_a_pointer_out_of_the_pool_is_named(pointer: tuple[int, int]) -> None:
    bad = query(5, [trajectory(0, 1, 0.0), trajectory(*pointer, 1.0)])
    with pytest.raises(
        DataError,
        match=exactly(
            f"pointer {list(pointer)} leaves the pool of 64 (query 5, trajectory 1 (beam)): {AGAIN}"
        ),
    ):
        dataset(bad)


@pytest.mark.parametrize("row", [ROWS, -1])
def test_a_row_the_table_does_not_have_is_named(row: int) -> None:
    pool = [*DATA[0].candidate_pool_indices[:63], row]
    with pytest.raises(
        DataError,
        match=exactly(
            f"candidate 63 is row {row}, the embedding table has {ROWS} (query 1): give the embeddings the RL data "
            "was made with"
        ),
    ):
        dataset(msgspec.structs.replace(DATA[0], candidate_pool_indices=pool))


def test_embeddings_that_are_not_finite_are_named() -> None:
    broken = table()
    broken[DATA[0].candidate_pool_indices[9], 4] = np.nan
    with pytest.raises(
        DataError,
        match=exactly("a candidate's embedding is not finite (query 1): correct the embedding table"),
    ):
        dataset(*DATA, img_emb_data=broken)[0]


# ---------------------------------------------------------------- the network


@pytest.fixture
def made() -> tuple[Selector, torch.Tensor, torch.Tensor]:
    """A network whose every parameter is drawn, and three queries with 7 candidates."""
    torch.manual_seed(0)
    network = Selector(WIDTH, hidden=16, inner=24)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return network, torch.randn(3, WIDTH), torch.randn(3, 7, WIDTH)


def test_ordered_pairs_without_repetition_have_all_the_probability(
    made: tuple[Selector, torch.Tensor, torch.Tensor],
) -> None:
    network, queries, candidates = made
    found = network(queries, candidates)
    assert found.shape == (3, 7, 7)
    assert torch.isneginf(found.diagonal(dim1=1, dim2=2)).all()
    assert torch.isfinite(found[:, ~torch.eye(7, dtype=torch.bool)]).all()
    assert torch.allclose(found.exp().sum((1, 2)), torch.ones(3), atol=1e-5)
    assert not torch.allclose(found.exp(), found.exp().transpose(1, 2), atol=1e-3), "order matters"


def test_the_order_of_candidates_does_not_matter(
    made: tuple[Selector, torch.Tensor, torch.Tensor],
) -> None:
    network, queries, candidates = made
    order = torch.randperm(7)
    moved = network(queries, candidates[:, order])
    assert torch.allclose(moved, network(queries, candidates)[:, order][:, :, order], atol=1e-5)


def test_every_query_is_decided_alone(made: tuple[Selector, torch.Tensor, torch.Tensor]) -> None:
    network, queries, candidates = made
    together = network(queries, candidates)
    assert torch.allclose(network(queries[1:2], candidates[1:2]), together[1:2], atol=1e-5)


def test_the_second_pick_knows_the_first(made: tuple[Selector, torch.Tensor, torch.Tensor]) -> None:
    """Were it blind, its odds between two other candidates would be the same whatever came first."""
    network, queries, candidates = made
    found = network(queries, candidates)
    odds = found[:, :, 5] - found[:, :, 6]
    assert (odds[:, :5].max(dim=1).values - odds[:, :5].min(dim=1).values > 0.05).all()


def test_every_parameter_learns(made: tuple[Selector, torch.Tensor, torch.Tensor]) -> None:
    network, queries, candidates = made
    network(queries, candidates)[:, 2, 3].sum().backward()
    silent = [name for name, p in network.named_parameters() if p.grad is None or not p.grad.abs().sum()]
    # A constant added to every key of an attention changes none of its weights.
    assert silent in ([], ["glimpse.in_proj_bias"])


def test_best_pair_and_probability_of_pairs(made: tuple[Selector, torch.Tensor, torch.Tensor]) -> None:
    network, queries, candidates = made
    found = network(queries, candidates).detach()
    pairs = list(permutations(range(7), 2))
    for number, best in enumerate(best_pairs(found).tolist()):
        assert tuple(best) == max(pairs, key=lambda pair: float(found[number][pair]))
    asked = torch.tensor([[[0, 1], [6, 2]]] * 3)
    assert torch.equal(pairs_log_probability(found, asked)[:, 1], found[:, 6, 2])
    assert torch.isneginf(pairs_log_probability(found, torch.tensor([[[4, 4]]] * 3))).all()


def test_an_untrained_selector_is_near_to_similarity() -> None:
    torch.manual_seed(1)
    network = Selector(96)
    assert 50_000 < sum(parameter.numel() for parameter in network.parameters()) < 80_000
    candidates = torch.randn(200, 64, 96)
    queries = torch.randn(200, 96) + candidates[:, 0]
    first = network(queries, candidates).logsumexp(2).argmax(1)
    plain = torch.cosine_similarity(queries[:, None], candidates, dim=-1).argmax(1)
    assert (first == plain).float().mean() > 0.8
