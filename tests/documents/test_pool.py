"""The pool's design document, held against the components: signatures, defaults, formats, errors and properties."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from engine.config.config import Config
from engine.errors import DataError
from engine.events import PoolQueryDone, PoolTotals
from engine.pool import layout
from engine.pool.candidate_pool_injector import CandidatePoolInjector
from engine.pool.data.records import (
    RLQueryData,
    TrajectoryData,
    global_to_local,
    local_to_global,
    read_rl_data,
    write_rl_data,
)
from engine.pool.global_positive_miner import GlobalPositiveMiner
from engine.pool.improve import TRANSFER, improve
from engine.pool.pool_stage import BuildPools
from engine.pool.selector.rl_beam_dataset import RLBeamDatasetWithEmbedding, collate
from engine.pool.trajectory_quality_controller import TrajectoryQualityController
from engine.pool.vqa.evaluated_pairs import EvaluatedPair
from engine.pool.vqa.vqa import VQAReply
from tests.run_stage import run_stage

TABLE = torch.eye(100)
"""Row i has a one at place i."""


def record(**changes: Any) -> dict[str, Any]:
    """1. RL 数据格式规范: a query of the file. Its pool holds the rows 99 to 36, so place p is row 99 - p."""
    return {
        "query_id": 123,
        "candidate_pool_indices": list(range(99, 35, -1)),
        "pointer_candidates": [
            {
                "pointer": [3, 27],
                "pointer_global": [96, 72],
                "vqa_correct": 1,
                "vqa_acc_score": 1.0,
                "gen_method": "beam",
                "beam_score": -1.5,
            }
        ],
    } | changes


def trajectory(score: float, pointer: tuple[int, int] = (0, 1)) -> TrajectoryData:
    return TrajectoryData(
        pointer=list(pointer), vqa_correct=int(score == 1), vqa_acc_score=score, gen_method="sample"
    )


def several(*scores: float) -> list[TrajectoryData]:
    """Each to places of its own."""
    return [trajectory(score, (2 * number, 2 * number + 1)) for number, score in enumerate(scores)]


# ---------------------------------------------------------------- Components and Interfaces: signatures and defaults


def test_the_numbers_of_the_document_are_the_defaults() -> None:
    def parameters(function: Any) -> list[tuple[str, Any]]:
        given_ = list(inspect.signature(function).parameters.values())
        return [(one.name, one.default) for one in given_ if one.kind is one.POSITIONAL_OR_KEYWORD]

    none = inspect.Parameter.empty
    # 2. RLBeamDatasetWithEmbedding
    assert parameters(RLBeamDatasetWithEmbedding)[:3] == [
        ("rl_data", none), ("img_emb_data", none), ("expected_pool_size", 64),
    ]  # fmt: skip
    # 3. 全局正样本挖掘器
    assert parameters(GlobalPositiveMiner) == [
        ("img_emb_data", none), ("vqa_interface", none), ("dataset", none), ("search_top_k", 300),
        ("max_eval_pairs", 50),
    ]  # fmt: skip
    assert [name for name, _ in parameters(GlobalPositiveMiner.mine_positives_for_query)] == [
        "self", "query_id", "current_pool_indices",
    ]  # fmt: skip
    # 4. 候选池注入器
    assert parameters(CandidatePoolInjector) == [("img_emb_data", none), ("max_inject_per_query", 8)]
    assert [name for name, _ in parameters(CandidatePoolInjector.inject_positives)][:3] == [
        "self", "query_data", "positive_icds",
    ]  # fmt: skip
    # 5. 轨迹质量控制器
    assert parameters(TrajectoryQualityController) == [
        ("target_trajectory_count", 12), ("positive_quota", 4), ("partial_quota", 2),
    ]  # fmt: skip
    assert [name for name, _ in parameters(TrajectoryQualityController.should_commit)] == [
        "self", "current_trajectories", "new_trajectory",
    ]  # fmt: skip
    section = Config().pool
    assert (section.search_top_k, section.max_eval_pairs, section.max_inject_per_query) == (300, 50, 8)
    assert (section.target_trajectory_count, section.positive_quota, section.partial_quota) == (12, 4, 2)
    # What the document does not know is off.
    assert not section.fill_with_refused


# ---------------------------------------------------------------- RL 数据格式规范, Data Models


def test_a_query_of_the_documents_form_comes_back_as_it_was(tmp_path: Path) -> None:
    """An integer id stays one; `...` of the document are fields that are kept."""
    given_ = {"123": record()}
    (tmp_path / "rl.json").write_text(json.dumps(given_))
    data = read_rl_data(tmp_path / "rl.json")
    (query,) = data.values()
    assert (query.query_id, query.candidate_pool_indices[:2]) == (123, [99, 98])
    (found,) = query.pointer_candidates
    assert (found.pointer, found.pointer_global, found.vqa_correct) == ([3, 27], [96, 72], 1)
    assert (found.vqa_acc_score, found.gen_method) == (1.0, "beam")
    write_rl_data(tmp_path / "again.json", data)
    assert json.loads((tmp_path / "again.json").read_text()) == given_
    assert TRANSFER == "global_positive_transfer"


def test_index_mapping() -> None:
    # 索引映射, and Property 3.
    pool = [1001, 2034, 7]
    assert [local_to_global(place, pool) for place in range(3)] == pool
    assert [global_to_local(row, pool) for row in pool] == [0, 1, 2]
    for outside in (-1, 3):
        with pytest.raises(IndexError):
            local_to_global(outside, pool)
    with pytest.raises(ValueError):
        global_to_local(8, pool)


# ---------------------------------------------------------------- RLBeamDatasetWithEmbedding


def test_an_item_has_the_embeddings_of_its_pool_and_local_pointers() -> None:
    found = RLBeamDatasetWithEmbedding({123: record()}, TABLE)[0]
    assert found["query_id"] == 123
    for key, kept in ((123, 123), ("123", "123"), (np.int64(123), 123)):  # the id as its key has it
        without = {name: value for name, value in record().items() if name != "query_id"}
        item = RLBeamDatasetWithEmbedding({key: without}, TABLE)[0]
        assert (item["query_id"], type(item["query_id"])) == (kept, type(kept))
    assert found["cand_emb"].shape == (64, 100)
    assert found["cand_emb"].argmax(dim=1).tolist() == list(range(99, 35, -1)), "of its pool, in its order"
    assert found["beam_labels"].tolist() == [[3, 27]]


def test_training_compatibility() -> None:
    # 训练兼容性测试: cand_emb.shape[1] == 64.
    data = RLBeamDatasetWithEmbedding({1: record(query_id=1), 2: record(query_id=2)}, TABLE)
    (batch,) = DataLoader(data, batch_size=2, collate_fn=collate)
    assert batch.cand_emb.shape == (2, 64, 100)


# ---------------------------------------------------------------- Error Handling


@pytest.mark.parametrize("size", (63, 65))
def test_error_1_another_size(size: int) -> None:
    wrong = record(candidate_pool_indices=list(range(size)), pointer_candidates=[])
    with pytest.raises(AssertionError, match=rf"{size} candidates, not 64.*query 123") as raised:
        RLBeamDatasetWithEmbedding({"123": wrong}, TABLE)
    assert isinstance(raised.value, DataError)
    assert len(RLBeamDatasetWithEmbedding({"123": wrong}, TABLE, expected_pool_size=size)) == 1


def test_error_1_comes_before_all_others() -> None:
    """`query_data.get("candidate_pool_indices", [])` has no candidate; place 27 is not in a pool of 20."""
    without = {name: value for name, value in record().items() if name != "candidate_pool_indices"}
    for wrong, size in ((without, 0), (record(candidate_pool_indices=list(range(20))), 20)):
        with pytest.raises(AssertionError, match=rf"{size} candidates, not 64.*query 123"):
            RLBeamDatasetWithEmbedding({"123": wrong}, TABLE)


@pytest.mark.parametrize("pointer", ([-1, 3], [3, 64]))
def test_error_2_a_pointer_outside_the_pool(pointer: list[int]) -> None:
    wrong = {"pointer": pointer, "vqa_correct": 0, "vqa_acc_score": 0.0, "gen_method": "beam"}
    for query in (
        record(pointer_candidates=[wrong]),
        RLQueryData(
            query_id=123,
            candidate_pool_indices=list(range(64)),
            pointer_candidates=[TrajectoryData(**wrong)],
        ),
    ):
        with pytest.raises(
            IndexError, match=r"pointer \[.*leaves the pool of 64.*query 123, trajectory 0"
        ) as raised:
            RLBeamDatasetWithEmbedding({"123": query}, TABLE)
        assert isinstance(raised.value, DataError)


def test_error_3_a_row_that_the_table_lacks(tmp_path: Path) -> None:
    with pytest.raises(
        IndexError, match=r"row 99, the embedding table has 99.*give the embeddings"
    ) as raised:
        RLBeamDatasetWithEmbedding({"123": record()}, TABLE[:99])
    assert isinstance(raised.value, DataError)
    query = RLQueryData(query_id=7, candidate_pool_indices=list(range(64)), pointer_candidates=[])
    for row in (100, -1):
        with pytest.raises(
            IndexError,
            match=rf"a positive is row {row}, the embedding table has 100.*query 7.*give the embeddings",
        ):
            CandidatePoolInjector(TABLE).inject_positives(query, [64, row], TABLE[0].numpy())
    (tmp_path / "rl.json").write_text(json.dumps({"123": record()}))
    with pytest.raises(IndexError, match="is 99, but the embedding table has 99 rows"):
        read_rl_data(tmp_path / "rl.json", 99)


# ---------------------------------------------------------------- 全局正样本挖掘器


class Questions:
    """Query 7 is nearest to row 0, then 1, and so on; row 0 is its own."""

    def query_embedding(self, query_id: str) -> Any:
        assert query_id == "7"
        return 2.0 ** -np.arange(100, dtype=np.float32)

    def annotations(self, query_id: str) -> list[str]:
        return ["right"] * 10

    def excluded(self, query_id: str) -> list[int]:
        return [0]


class Model:
    """Right with rows 1 and 4, partly right never."""

    name = "model"

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    def answer(self, asks: Any, checkpoint: Any, answered: Any) -> None:
        self.asked += [ask.demonstrations for ask in asks]
        for number, ask in enumerate(asks):
            right = set(ask.demonstrations) in ({1, 4}, {2, 3})
            answered(number, VQAReply("right" if right else "wrong"))


def test_mining_gives_the_positives_by_rows_and_score() -> None:
    """Rows 1 to 4 are the four nearest that are not its own: six pairs, of which the two right ones come back; that of
    the pool's own rows first."""
    model, questions = Model(), Questions()
    dataset: Any = questions
    miner = GlobalPositiveMiner(TABLE, model, dataset, search_top_k=4)
    assert miner.mine_positives_for_query(7, [2, 3]) == [
        {"global_indices": [3, 2], "acc_score": 1.0},
        {"global_indices": [4, 1], "acc_score": 1.0},
    ]
    assert sorted(map(sorted, model.asked)) == [[1, 2], [1, 3], [1, 4], [2, 3], [2, 4], [3, 4]]
    few = GlobalPositiveMiner(TABLE, model, dataset, max_eval_pairs=2)
    assert few.mine_positives_for_query(7, [2, 3]) == [], "the two best-ranked pairs are both wrong"


# ---------------------------------------------------------------- 候选池注入器, Properties 1 to 4


def test_injection_replaces_the_least_similar_and_remaps() -> None:
    """The query is most similar to row 0. Of the pool 0 to 63 the rows 63, 62, ... are the least similar; 63 is pointed
    to, so nine new rows take the places of 62 to 55, and the ninth finds none."""
    table = torch.stack([torch.linspace(1, 0, 100), torch.linspace(0, 1, 100)], dim=1)
    query = RLQueryData(
        query_id=7, candidate_pool_indices=list(range(64)), pointer_candidates=[trajectory(0.6, (63, 0))]
    )
    found = CandidatePoolInjector(table).inject_positives(query, list(range(90, 99)), table[0].numpy())
    pool = found.query.candidate_pool_indices
    assert pool == [*range(55), *range(97, 89, -1), 63] and len(set(pool)) == 64
    assert (len(found.injected), found.refused) == (8, (98,))
    (kept,) = found.query.pointer_candidates
    assert [local_to_global(place, pool) for place in kept.pointer] == kept.pointer_global == [63, 0]


# ---------------------------------------------------------------- 轨迹质量控制器, Properties 5 and 6


def test_commit_on_improve() -> None:
    controller = TrajectoryQualityController()
    current = several(0.0, 0.6)
    assert controller.should_commit(current_trajectories=current, new_trajectory=trajectory(1.0)), (
        "a higher maximum"
    )
    assert controller.should_commit(several(1.0, 0.0), trajectory(0.6)), "a new score"
    assert not controller.should_commit(current, trajectory(0.6))
    assert not controller.should_commit(several(1.0, 0.6, 0.0), trajectory(1.0))


@given(st.lists(st.sampled_from((0.0, 0.3, 0.6, 1.0)), min_size=1, max_size=30))
def test_property_5_and_6(scores: list[float]) -> None:
    """Whatever is offered: what is committed improves, and the final twelve are of what was committed."""
    controller, committed = TrajectoryQualityController(), list[TrajectoryData]()
    for new in several(*scores):
        before = [one.vqa_acc_score for one in committed]
        if controller.should_commit(committed, new):
            committed.append(new)
            assert new.vqa_acc_score > max(before, default=-1) or new.vqa_acc_score not in before
    final = controller.select_final_trajectories(committed, [trajectory(1.0, (62, 63))])
    assert len(final) == 12
    once = [one.pointer for one in final[: len(committed)]]
    assert sorted(once) == sorted(one.pointer for one in committed), (
        "each committed one, and not the refused one"
    )
    kept = [one.vqa_acc_score for one in final]
    within = kept.count(1.0) <= 4 and sum(0 < score < 1 for score in kept) <= 2
    assert within or 0.0 not in kept, "quotas hold where wrong ones can be repeated"
    assert sum("repeated" in one.extra for one in final) == 12 - len(committed)


def test_quotas() -> None:
    # 配额分配: four right ones of six, two partly right ones of four, the rest wrong.
    final = TrajectoryQualityController().select_final_trajectories(
        several(*[1.0] * 6, *[0.6] * 4, *[0.0] * 9)
    )
    scores = [one.vqa_acc_score for one in final]
    assert (scores.count(1.0), scores.count(0.6), scores.count(0.0)) == (4, 2, 6)


@pytest.mark.parametrize(
    ("given_", "right", "partly", "wrong"),
    (
        ([1.0] * 4 + [0.6] * 2 + [0.0] * 3, 4, 2, 6),
        ([1.0, 0.6, 0.0], 4, 2, 6),
        ([0.6, 0.0], 0, 2, 10),
        ([1.0, 0.0], 4, 0, 8),
        ([0.0], 0, 0, 12),
        # Without a wrong one no quota can be kept: all take turns.
        ([1.0, 0.6], 6, 6, 0),
    ),
)
def test_quotas_of_repetitions(given_: list[float], right: int, partly: int, wrong: int) -> None:
    # 配额分配: acc_score=1.0: 2~4; 0.6: 1~2; 0: 补齐剩余.
    final = TrajectoryQualityController().select_final_trajectories(several(*given_))
    scores = [one.vqa_acc_score for one in final]
    assert (scores.count(1.0), scores.count(0.6), scores.count(0.0)) == (right, partly, wrong)


# ---------------------------------------------------------------- the whole


def test_a_refused_pair_is_never_among_the_final_trajectories() -> None:
    """Given is a right pair. Mined are a second right pair, which improves nothing, and one with a new score. So two
    trajectories are committed or given, each six times in the data; by name the refused one comes before any is
    repeated."""
    table = np.eye(100, dtype=np.float32)
    query = RLQueryData(
        query_id=7,
        candidate_pool_indices=list(range(64)),
        pointer_candidates=[
            TrajectoryData(
                pointer=[0, 1], pointer_global=[0, 1], vqa_correct=1, vqa_acc_score=1.0, gen_method="beam"
            )
        ],
    )
    mined = [
        EvaluatedPair(query_id="7", pair=pair, model="m", answer="x", score=score)
        for pair, score in (((2, 3), 1.0), ((4, 5), 0.6))
    ]

    def pairs(**by_name: bool) -> list[tuple[int, ...]]:
        controller = TrajectoryQualityController(**by_name)
        done = improve(query, mined, table[0], controller, CandidatePoolInjector(table))
        return [tuple(one.pointer_global or ()) for one in done.query.pointer_candidates]

    assert pairs() == [(0, 1), (4, 5)] * 6
    assert pairs(fill_with_refused=True) == [(0, 1), (4, 5), (2, 3)] * 4


def test_end_to_end(tmp_path: Path) -> None:
    # 端到端数据处理测试: pools of any size become pools of 64 with 12 trajectories, whose pointers lead to their rows.
    # Error handling 4: an injection that raises nothing is a warning.
    config = Config.model_validate({"pool": {"train_queries": 12, "heldout_queries": 4}})
    events = run_stage(BuildPools(), config, tmp_path)
    raw, final = read_rl_data(layout.initial(tmp_path)), read_rl_data(layout.rl_data(tmp_path), 3600)
    assert len({len(query.candidate_pool_indices) for query in raw.values()}) > 1
    for query in final.values():
        pool = query.candidate_pool_indices
        assert (len(pool), len(query.pointer_candidates)) == (64, 12)
        for one in query.pointer_candidates:
            assert [local_to_global(place, pool) for place in one.pointer] == one.pointer_global
            assert "refused" not in one.extra
    done = [event for event in events if isinstance(event, PoolQueryDone)]
    assert all(len(event.injected) <= 8 for event in done)
    for event in done:
        unchanged = event.injected and event.oracle_after <= event.oracle_before
        assert bool(unchanged) == (event.warning == "injection did not raise oracle@64")
    (totals,) = [event for event in events if isinstance(event, PoolTotals)]
    kept = [one for event in done for one in event.trajectories]
    assert totals.repeated == sum(max(0, one.kept - 1) for one in kept) > 0
    assert totals.reserve == 0
