"""Every figure by hand on small graphs, and the beam against sorting all paths."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from engine.config.gflownet import RewardSection
from engine.gflownet.evaluation.beam import beam_search
from engine.gflownet.evaluation.metrics import pearson, question_figures, spearman, trajectory_figures
from engine.gflownet.sampler.environment import GraphEnv, Walks, enumerate_walks
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.reward import AnswerDiffusionReward, AnswerOnlyReward
from tests.engine.gflownet.small_graphs import SMALL_GRAPHS, SmallGraph, small_batch, stored_paths

# 0 -a-> 1 -b-> 2*, 0 -c-> 3*, 3 -d-> 4; the taught path is a, b.
GRAPH = SmallGraph("by hand", ((0, 0, 1), (1, 1, 2), (0, 2, 3), (3, 0, 4)), (0,), (2, 3), (0, 1))


def walks_of(batch: GraphBatch, paths: list[list[int]], steps: int = 3) -> Walks:
    """Stored edge numbers of the one graph as walks."""
    place = {int(local): edge for edge, local in enumerate(batch.edge_local)}
    edges = torch.tensor([[place[e] for e in path] + [-1] * (steps - len(path)) for path in paths])
    nodes = torch.full((len(paths), steps + 1), -1)
    for row, path in enumerate(paths):
        if path:
            nodes[row, 0] = batch.heads[place[path[0]]]
            nodes[row, 1 : len(path) + 1] = batch.tails[edges[row, : len(path)]]
    return Walks(torch.zeros(len(paths), dtype=torch.long), edges, nodes)


def test_figures_of_single_trajectories():
    batch = small_batch([GRAPH])
    walks = walks_of(batch, [[0, 1], [2, 3], [0], []])
    reward = AnswerOnlyReward(RewardSection())(batch, walks, batch.question_emb)
    figures = {name: values.tolist() for name, values in trajectory_figures(batch, walks, reward).items()}
    assert figures["success_mean"] == [1, 1, 0, 0]
    assert figures["rollout_reward"] == pytest.approx([1, 1, 0.001, 0.001])
    assert figures["answer_precision"] == pytest.approx([1 / 3, 1 / 3, 0, 0])
    assert figures["answer_recall"] == figures["reach_frac"] == pytest.approx([0.5, 0.5, 0, 0])
    assert figures["answer_f1"] == pytest.approx([0.4, 0.4, 0, 0])
    assert figures["path_hit_precision"] == pytest.approx([1, 0, 1, 0])
    assert figures["path_hit_recall"] == pytest.approx([1, 0, 0.5, 0])
    assert figures["path_hit_f1"] == pytest.approx([1, 0, 2 / 3, 0])
    assert figures["gt_path_precision"] == pytest.approx([1, 0, 1, 0])
    assert figures["gt_path_recall"] == pytest.approx([1, 0, 0.5, 0])
    assert figures["gt_path_f1"] == pytest.approx([1, 0, 2 / 3, 0])
    assert figures["gt_path_full_hit"] == [1, 0, 0, 0]
    assert figures["length_mean"] == [2, 2, 1, 0]


def test_an_edge_that_is_taken_twice_counts_once():
    """0 -a-> 0 -a-> 0 -b-> 1* is taught: two edges. Of them a, a has one, as b alone has."""
    batch = small_batch([SmallGraph("twice", ((0, 0, 0), (0, 1, 1)), (0,), (1,), (0, 0, 1))])
    walks = walks_of(batch, [[0, 0, 1], [0, 0], [1]])
    reward = AnswerOnlyReward(RewardSection(kind="gold_paths"))(batch, walks, batch.question_emb)
    figures = {name: values.tolist() for name, values in trajectory_figures(batch, walks, reward).items()}
    for name in ("path_hit", "gt_path"):
        assert figures[f"{name}_precision"] == [1, 1, 1]
        assert figures[f"{name}_recall"] == [1, 0.5, 0.5]
    assert figures["gt_path_full_hit"] == [1, 0, 0] and figures["length_mean"] == [3, 2, 1]
    assert figures["rollout_reward"] == pytest.approx([1, 0.001, 0.001]), "b alone is a short cut"
    env = GraphEnv(3, forbid_revisit=False, forbid_backtrack=False)
    assert (0, 0, 1) in stored_paths(batch, enumerate_walks(env, batch, 0).edges), "and it can be walked"


def test_a_taught_path_is_hit_whole_whatever_the_longest_of_the_batch_and_none_is_not():
    short = SmallGraph("short", ((0, 0, 1),), (0,), (1,), (0,))
    none = SmallGraph("none is taught", ((0, 0, 1),), (0,), (1,))
    batch = small_batch([GRAPH, short, none])
    first = [int((batch.edge_graph == graph).nonzero()[0, 0]) for graph in (1, 2)]
    edges = torch.tensor([[edge] for edge in first])  # as many as a walk may have
    nodes = torch.stack([torch.tensor([int(batch.heads[e]), int(batch.tails[e])]) for e in first])
    walks = Walks(torch.tensor([1, 2]), edges, nodes)
    reward = AnswerOnlyReward(RewardSection())(batch, walks, batch.question_emb)
    assert trajectory_figures(batch, walks, reward)["gt_path_full_hit"].tolist() == [1, 0]


def test_figures_of_a_question():
    batch = small_batch([GRAPH])
    walks = walks_of(batch, [[0], [0, 1], [0, 1], [2]])
    reward = AnswerOnlyReward(RewardSection())(batch, walks, batch.question_emb)
    figures = {
        name: values.tolist()
        for name, values in question_figures(batch, walks, reward, [1, 2], [1, 2, 4]).items()
    }
    assert [figures[f"success@{k}"] for k in (1, 2, 4)] == [[0], [1], [1]]
    assert [figures[f"answer_recall_union@{k}"] for k in (1, 2, 4)] == [[0], [0.5], [1]]
    assert [figures[f"answer_hit_any@{k}"] for k in (1, 2, 4)] == [[0], [1], [1]]
    assert [figures[f"path_hit_any@{k}"] for k in (1, 2, 4)] == [[1], [1], [1]]
    assert figures["unique_paths"] == figures["unique_paths@4"] == [3]
    assert figures["unique_success_paths@4"] == [2]
    assert figures["modes_found"] == [2] and figures["modes_recall"] == [1]
    assert figures["path_hit_precision@1"] == pytest.approx([3 / 4])
    assert figures["path_hit_recall@1"] == pytest.approx([3 / 8])
    assert figures["path_hit_f1@2"] == pytest.approx([(2 / 3 + 1 + 1 + 0) / 4])
    assert figures["path_f1_union@2"] == pytest.approx([1])
    assert figures["path_f1_union@4"] == pytest.approx([2 * (2 / 3) * 1 / (5 / 3)])


@pytest.mark.parametrize("kind", ["answer_only", "gold_paths"])
def test_where_there_is_no_edge_every_figure_of_the_empty_walks_is_zero(kind: str):
    """But that there is one path, the empty one. It meets no answer, though it begins at one."""
    batch = small_batch([SmallGraph("alone", (), (0,), (0,))])
    walks = walks_of(batch, [[], []])
    reward = AnswerOnlyReward(RewardSection.model_validate({"kind": kind}))(batch, walks, batch.question_emb)
    figures = question_figures(batch, walks, reward, [1], [1])
    found = {name: value.item() for name, value in figures.items() if value.item()}
    assert found == pytest.approx(
        {"rollout_reward": 0.001} | dict.fromkeys(("unique_paths@1", "unique_paths@2", "unique_paths"), 1.0)
    )


def test_a_gold_answer_outside_the_graph_counts_as_missed():
    batch = replace(small_batch([GRAPH]), gold_count=torch.tensor([5]))
    walks = walks_of(batch, [[0], [0, 1], [2, 3]])
    reward = AnswerOnlyReward(RewardSection())(batch, walks, batch.question_emb)
    figures = question_figures(batch, walks, reward, [], [1, 2])
    shares = {k: figures[f"gold_recall_union@{k}"].item() for k in (1, 2, 3)}
    assert shares == pytest.approx({1: 0, 2: 1 / 5, 3: 2 / 5})
    assert figures["answer_recall_union@3"].item() == 1, "of the two in the graph"
    assert figures["reach_frac"].item() == pytest.approx(1 / 3), "of these two: none, a half, a half"
    assert figures["modes_found"].item() == 2 and figures["modes_recall"].item() == 1, "the same"


def test_a_shortest_path_is_hit_from_the_first_trajectory_on_that_takes_an_edge_of_one():
    batch = small_batch([GRAPH])
    walks = walks_of(batch, [[2, 3], [], [0], [2]])
    reward = AnswerOnlyReward(RewardSection())(batch, walks, batch.question_emb)
    figures = question_figures(batch, walks, reward, [], [1, 2, 3])
    assert [figures[f"path_hit_any@{k}"].item() for k in (1, 2, 3, 4)] == [0, 0, 1, 1]


@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_reward_shaping_keeps_one_as_the_largest(weight: float):
    batch = small_batch([GRAPH])
    walks = walks_of(batch, [[2], [2, 3], [0]])
    section = RewardSection(success_reward=4.0, failure_reward=0.5, lambda_reach=weight)
    out = AnswerDiffusionReward(section)(batch, walks, batch.question_emb)
    half = math.exp(0.5 * weight - weight)
    assert out.reward.tolist() == pytest.approx([half, half, 0.125 * math.exp(-weight)])


def test_a_reward_has_a_floor_and_its_logarithm_has_none():
    batch = small_batch([GRAPH])
    walks = walks_of(batch, [[0]])
    section = RewardSection(success_reward=1.0, failure_reward=1e-30)
    out = AnswerOnlyReward(section)(batch, walks, batch.question_emb)
    assert out.reward.item() == pytest.approx(1e-8) and out.log_reward.item() == pytest.approx(
        math.log(1e-30)
    )


def test_correlations():
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    assert pearson(x, 2 * x + 1) == pytest.approx(1)
    assert pearson(x, torch.ones(4)) == 0
    assert pearson(torch.tensor([0.0, 1e-4]), torch.tensor([0.0, -1e-4])) == pytest.approx(-1), (
        "however little"
    )
    assert spearman(x, x**3) == pytest.approx(1)
    assert spearman(x, torch.tensor([1.0, 1.0, 0.0, 0.0])) == pytest.approx(-math.sqrt(0.8))
    tied, ranks = torch.tensor([1.0, 1.0, 1.0, 2.0, 3.0]), torch.tensor([2.0, 2.0, 2.0, 4.0, 5.0])
    assert spearman(torch.arange(5.0), tied) == pytest.approx(pearson(torch.arange(5.0), ranks))


@pytest.mark.parametrize("bonus", [0.0, 1.5, 6.0])
@pytest.mark.parametrize("graph", SMALL_GRAPHS, ids=lambda graph: graph.name)
def test_a_beam_as_wide_as_all_paths_sorts_them_all(graph: SmallGraph, bonus: float):
    batch = small_batch([SMALL_GRAPHS[0], graph])
    env = GraphEnv(3)
    every = enumerate_walks(env, batch, 1)
    worth = {}
    for path, edges in zip(stored_paths(batch, every.edges), every.edges, strict=True):
        if path:
            scores = batch.edge_scores[edges[edges >= 0]].log()
            worth[path] = float(scores.sum()) + bonus * len(path)
    width = len(worth) + 2
    walks, values = beam_search(env, batch, width, bonus)
    mine = walks.graph == 1
    found = stored_paths(batch, walks.edges[mine])
    assert found[len(worth) :] == [(), ()]
    assert set(found[: len(worth)]) == set(worth)
    assert values[mine][: len(worth)].tolist() == pytest.approx(sorted(worth.values(), reverse=True))


def test_a_narrow_beam_keeps_the_best_of_each_length():
    batch = small_batch([GRAPH])
    walks, _ = beam_search(GraphEnv(3), batch, 1)
    best = max(
        batch.heads.new_tensor([0, 2]).tolist(), key=lambda e: float(batch.edge_scores[batch.edge_local == e])
    )
    assert stored_paths(batch, walks.edges) == [(best,)]


def test_small_scores_differ_and_none_is_minus_infinity():
    """Of four edges those from the start: 1e-9 before 1e-11; a score of 0 counts as 1e-12."""
    batch = small_batch([GRAPH])
    first, other = (edge for edge in range(4) if batch.heads[edge] == 0)
    scores = torch.zeros(4)
    scores[first], scores[other] = 1e-11, 1e-9
    walks, values = beam_search(GraphEnv(1), replace(batch, edge_scores=scores), 2)
    assert walks.edges[:, 0].tolist() == [other, first]
    assert values.tolist() == pytest.approx([math.log(1e-9), math.log(1e-11)])
    _, values = beam_search(GraphEnv(1), replace(batch, edge_scores=torch.zeros(4)), 1)
    assert values.tolist() == pytest.approx([math.log(1e-12)])


def test_the_answer_is_where_most_of_the_paths_weight_ends():
    """Not where the first path ends; paths without an edge name no entity."""
    # 0 -> 1 and 0 -> 2 -> 3*, 0 -> 4 -> 3*.
    graph = SmallGraph("ends", ((0, 0, 1), (0, 1, 2), (2, 2, 3), (0, 3, 4), (4, 4, 3)), (0,), (3,), (1, 2))
    batch = small_batch([graph])
    walks = walks_of(batch, [[0], [], [1, 2], [3, 4]])
    reward = AnswerOnlyReward(RewardSection())(batch, walks, batch.question_emb)

    def hit(weight: list[float] | None) -> list[float]:
        weights = None if weight is None else torch.tensor(weight).log()
        return question_figures(batch, walks, reward, [1], [1], weights)["hits@1"].tolist()

    assert hit(None) == [1] and hit([0.4, 0.9, 0.3, 0.2]) == [1] and hit([0.4, 0.0, 0.2, 0.1]) == [0]
    assert hit([0.4, 0.9, 0.0, 0.0]) == [0]


def test_a_start_that_is_an_answer_is_met_by_coming_back():
    graph = SmallGraph("back", ((0, 0, 1), (1, 1, 0), (0, 2, 2)), (0,), (0,), (0, 1))
    batch = small_batch([graph])
    walks = walks_of(batch, [[2], [0, 1], [0]])
    reward = AnswerOnlyReward(RewardSection())(batch, walks, batch.question_emb)
    assert reward.success.tolist() == [False, True, False]
    assert reward.answer_precision.tolist() == pytest.approx([0, 0.5, 0])


def test_only_gold_paths_are_paid_where_the_section_says_so():
    """0 -a-> 1 -b-> 2* is gold; 0 -c-> 3* meets an answer as well, and is a success without being paid."""
    batch = small_batch([GRAPH])
    walks = walks_of(batch, [[0, 1], [2], [0], [], [2, 3]])
    reward = AnswerOnlyReward(RewardSection(kind="gold_paths"))(batch, walks, batch.question_emb)
    assert reward.reward.tolist() == pytest.approx([1, 0.001, 0.001, 0.001, 0.001])
    assert reward.success.tolist() == [True, True, False, False, True]


def test_another_way_of_the_same_length_to_the_answer_is_not_paid():
    """0 -a-> 1 -b-> 2* is gold; 0 -c-> 3 -d-> 2* ends there as well."""
    graph = SmallGraph("two ways", ((0, 0, 1), (1, 1, 2), (0, 2, 3), (3, 3, 2)), (0,), (2,), (0, 1))
    batch = small_batch([graph])
    reward = AnswerOnlyReward(RewardSection(kind="gold_paths"))(
        batch, walks_of(batch, [[0, 1], [2, 3]]), batch.question_emb
    )
    assert reward.reward.tolist() == pytest.approx([1, 0.001])


def test_a_short_cut_along_a_gold_path_that_comes_back_is_not_paid():
    """0 -a-> 1 -b-> 0 -c-> 2* is gold; its last edge alone ends at the answer, too."""
    graph = SmallGraph("comes back", ((0, 0, 1), (1, 1, 0), (0, 2, 2)), (0,), (2,), (0, 1, 2))
    batch = small_batch([graph])
    walks = walks_of(batch, [[0, 1, 2], [2], [0, 1], []])
    reward = AnswerOnlyReward(RewardSection(kind="gold_paths"))(batch, walks, batch.question_emb)
    assert reward.reward.tolist() == pytest.approx([1, 0.001, 0.001, 0.001])
    assert reward.success.tolist() == [True, True, False, False]
