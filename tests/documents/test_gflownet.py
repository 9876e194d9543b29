"""GFlowNet as its document describes it: defaults, formulas and names, with values worked out by hand.

The graph of these tests: from 0 two parallel edges to 1, one to 3; from 1, 3 and 4 an edge each to 2, the answer.

    e0, e1: 0 -> 1    e2: 1 -> 2    e3: 0 -> 3    e4: 3 -> 2    e5: 4 -> 2    in-degrees: 1: 2, 3: 1, 2: 3
"""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.config.config import Config
from engine.config.gflownet import (
    AgentGraphsSection,
    EstimatorSection,
    GFlowNetSection,
    PolicySection,
    RewardSection,
)
from engine.events import QuestionSampled, SamplerEvaluated, SamplerStep
from engine.gflownet import layout
from engine.gflownet.agent_graphs.builder import GAgentBuilder
from engine.gflownet.evaluation.metrics import question_figures, trajectory_figures
from engine.gflownet.sampler.actor import GFlowNetActor, Sampling
from engine.gflownet.sampler.environment import GraphEnv, Walks, enumerate_walks
from engine.gflownet.sampler.module import GFlowNetModule, prior_alpha
from engine.gflownet.sampler.replay import shortest_paths
from engine.gflownet.sampler.reward import AnswerDiffusionReward, AnswerOnlyReward
from engine.gflownet.sampler.trajectory_balance import residual
from engine.run.stage import StageResult
from tests.engine.gflownet.sampler.test_exactness import closed_form, no_tokens
from tests.engine.gflownet.small_graphs import WIDTH, SmallGraph, small_batch, stored_paths
from tests.engine.gflownet.small_run import run_stages
from tests.engine.gflownet.tabular_policy import TabularPolicy

GRAPH = SmallGraph(
    "hub", ((0, 0, 1), (0, 1, 1), (1, 0, 2), (0, 2, 3), (3, 0, 2), (4, 0, 2)), (0,), (2,), (3, 4)
)


def walks(*paths: tuple[int, ...]) -> Walks:
    """Of GRAPH, by the numbers of its edges, which are stored in the order e0, e1, e3, e2, e4, e5."""
    place = {0: 0, 1: 1, 3: 2, 2: 3, 4: 4, 5: 5}
    tail = {edge: triple[2] for edge, triple in enumerate(GRAPH.triples)}
    edges = torch.full((len(paths), 3), -1)
    nodes = torch.full((len(paths), 4), -1)
    for row, path in enumerate(paths):
        if path:
            nodes[row, 0] = 0
        for step, edge in enumerate(path):
            edges[row, step], nodes[row, step + 1] = place[edge], tail[edge]
    return Walks(torch.zeros(len(paths), dtype=torch.long), edges, nodes)


def module(**section: Any) -> GFlowNetModule:
    torch.manual_seed(0)
    return GFlowNetModule(WIDTH, GFlowNetSection.model_validate({"policy": {"hidden": 8}} | section)).double()


# ---------------------------------------------------------------- defaults


def test_defaults() -> None:
    """A section without settings is the published algorithm with its numbers."""
    agent, sampler = AgentGraphsSection(), GFlowNetSection()
    # 0.3, step 2: anchors are the ends of the K best-scored edges, K = 50
    assert agent.anchor_top_k == 50
    # 0.3, step 3: Seed -> Anchor, two hops; a way ends at its first anchor
    assert agent.hops == 2 and agent.through_anchors is False
    # 2.1: no node twice, no edge back
    assert sampler.environment.forbid_revisit and sampler.environment.forbid_backtrack
    # 3.1: the retriever's prior, from 2.0 to 0.5 over 10,000 steps, all of which a training has
    actor = sampler.actor
    assert (actor.retriever_prior_alpha_start, actor.retriever_prior_alpha_end) == (2.0, 0.5)
    assert actor.retriever_prior_anneal_steps == sampler.steps == 10_000
    # 3.2: P_B is uniform or learned; the old log P_B = 0 is given up
    assert sampler.estimator.log_pb_mode == "uniform"
    # 3.2.4: the head learns where there is one; the entropy has a weight above 0; L2 is optional
    assert sampler.estimator.learn_pb and sampler.estimator.pb_entropy_coef > 0
    assert sampler.estimator.pb_l2_reg == 0
    # 4.2: AnswerOnlyReward, 10 and 0.01, no shaping
    reward = sampler.reward
    assert (reward.kind, reward.success_reward, reward.failure_reward, reward.lambda_reach) == (
        "answer_only", 10.0, 0.01, 0.0,
    )  # fmt: skip
    # 4.3: the other name is an alias
    assert AnswerDiffusionReward is AnswerOnlyReward
    # 6: teacher forcing by likelihood, which is added to the loss as it is
    assert (sampler.gt_replay, sampler.gt_loss_weight) == ("likelihood", 1.0)
    # 7, step 4: K = 1 in training, more in evaluation
    assert sampler.num_train_rollouts == 1 < sampler.num_eval_rollouts
    # 9.2: independent draws; the window's F1 is added to what is watched
    assert sampler.distinct_paths is False and sampler.auto_add_path_hit_f1 is True


# ---------------------------------------------------------------- 0.3, 2: graphs and walks


def test_a_way_from_a_seed_ends_at_its_first_anchor() -> None:
    """0.3, step 3. Seed 0; 1 and 4 are anchors: 0 -> 1 and 0 -> 2 -> 4 are kept, 0 -> 1 -> 3 -> ... is not, and of the
    middle node 2 no edge that leads to no anchor."""
    edges = torch.tensor([[0, 1, 0, 2, 2, 4], [1, 4, 2, 4, 5, 6]])
    top = torch.tensor([True, True, False, False, False, False])  # ends: 0, 1, 4
    kept = GAgentBuilder(AgentGraphsSection()).select(edges, 7, torch.tensor([0]), top)
    assert kept.tolist() == [True, False, True, True, False, False]
    ours = AgentGraphsSection(through_anchors=True)
    assert GAgentBuilder(ours).select(edges, 7, torch.tensor([0]), top).tolist() == [
        True,
        True,
        True,
        True,
        False,
        False,
    ]


def test_the_first_edge_touches_a_start_and_stop_is_always_legal() -> None:
    """2.1: seven walks, the empty one too; e5 begins at no start."""
    batch = small_batch([GRAPH])
    found = stored_paths(batch, enumerate_walks(GraphEnv(3), batch, 0).edges)
    assert set(found) == {(), (0,), (1,), (3,), (0, 2), (1, 2), (3, 4)} and len(found) == 7


# ---------------------------------------------------------------- 3.1: the forward policy


def test_the_prior_is_the_weighted_log_of_the_clipped_score() -> None:
    """3.1: alpha log max(score, 1e-4)."""
    batch = small_batch([GRAPH])
    batch.edge_scores[:3] = torch.tensor([0.5, 0.0, 1e-9], dtype=torch.float64)
    made = module()
    prior = made.actor.prior(batch, Sampling(prior_alpha=2.0))
    assert prior[:3].tolist() == pytest.approx([2 * math.log(0.5), 2 * math.log(1e-4), 2 * math.log(1e-4)])


@pytest.mark.parametrize(("step", "alpha"), [(0, 2.0), (5_000, 1.25), (10_000, 0.5), (30_000, 0.5)])
def test_the_prior_is_annealed_linearly_and_then_stays(step: int, alpha: float) -> None:
    """3.1: alpha(t) = 2 + (0.5 - 2) min(1, t / 10^4)."""
    assert prior_alpha(GFlowNetSection(), step) == pytest.approx(alpha)


def test_stop_at_the_last_step_is_forced_and_costs_nothing() -> None:
    """2.2: at T_max = 1 a walk of one edge has the probability of that edge alone: all four walks sum to 1."""
    batch = small_batch([GRAPH])
    env = GraphEnv(1)
    listed = enumerate_walks(env, batch, 0)
    policy = TabularPolicy(batch, listed)
    scored = GFlowNetActor(env, policy).score(batch, no_tokens(batch), listed.graph, listed.edges, Sampling())
    assert scored.log_pf.exp().tolist() == pytest.approx([0.25] * 4)


def test_exploration_mixes_the_draws_and_the_clean_policy_is_scored() -> None:
    """3.1, 4: STOP has 0.97 and each of three edges 0.01; at a mixing of 0.4 an edge is drawn with
    0.6 * 0.01 + 0.4 / 4 = 0.106. What is scored is log 0.01."""
    batch = small_batch([GRAPH])
    env = GraphEnv(1)
    policy = TabularPolicy(batch, enumerate_walks(env, batch, 0))
    with torch.no_grad():
        policy.stop[policy.root] = math.log(97)
    draws = 20_000
    rollout = GFlowNetActor(env, policy).rollout(
        batch, no_tokens(batch), torch.zeros(draws, dtype=torch.long), torch.arange(draws),
        Sampling(random_action_prob=0.4),
    )  # fmt: skip
    walked = rollout.walks.edges[:, 0]
    for edge in range(3):
        assert float((walked == edge).double().mean()) == pytest.approx(0.106, abs=0.01)
    assert rollout.log_pf[walked >= 0].tolist() == pytest.approx([math.log(0.01)] * int((walked >= 0).sum()))


# ---------------------------------------------------------------- 3.2, 5: the backward policy, trajectory balance


def log_pb(mode: str, *paths: tuple[int, ...]) -> list[float]:
    batch, made = small_batch([GRAPH]), module(estimator={"log_pb_mode": mode})
    return made.estimator.backward_policy(batch, made.embedder(batch), walks(*paths)).log_pb.tolist()


@pytest.mark.parametrize("mode", ["uniform", "learned"])
def test_log_p_b_is_minus_the_log_of_the_in_degrees(mode: str) -> None:
    """3.2.2: e0 reaches node 1 (in-degree 2), e2 and e4 node 2 (3), e3 node 3 (1). 3.2.3: with a last layer of zeros
    the learned one begins there."""
    found = log_pb(mode, (0, 2), (3, 4), (1,), ())
    assert found == pytest.approx([-math.log(6), -math.log(3), -math.log(2), 0.0])


def test_the_exact_backward_policy_is_one_by_name() -> None:
    """Ours: the states form a tree."""
    assert log_pb("exact", (0, 2), (3, 4)) == [0.0, 0.0]


def test_the_residual_by_hand() -> None:
    """5.1: log Z 0.3, log P_F -1.2, P_B of (e0, e2) 1/6, R 1: 0.3 - 1.2 + log 6 - 0 = 0.891759. Of (e0) alone, which
    meets no answer: 0.3 - 1.2 + log 2 - log 0.001 = 6.700903."""
    batch, made = small_batch([GRAPH]), module()
    own = walks((0, 2), (0,))
    backward = made.estimator.backward_policy(batch, made.embedder(batch), own)
    reward = made.reward(batch, own, batch.question_emb)
    ones = torch.ones(2, dtype=torch.float64)
    found = residual(0.3 * ones, -1.2 * ones, backward.log_pb, reward.log_reward)
    assert found.tolist() == pytest.approx([0.891759, 6.700903], abs=1e-5)


def test_under_uniform_p_b_the_sampler_follows_the_reward_over_in_degrees() -> None:
    """3.2.2 in 5.1: at a residual of 0 everywhere P_F is R / (in-degrees) / Z. Not R / Z: (e3, e4) comes up twice as
    often as (e0, e2), which is worth as much."""
    batch, env, made = small_batch([GRAPH]), GraphEnv(3), module()
    listed = enumerate_walks(env, batch, 0)
    worth = {(): 0.001, (0,): 0.0005, (1,): 0.0005, (3,): 0.001, (0, 2): 1 / 6, (1, 2): 1 / 6, (3, 4): 1 / 3}
    policy = TabularPolicy(batch, listed)
    flow = torch.tensor([worth[path] for path in stored_paths(batch, listed.edges)], dtype=torch.float64)
    z = closed_form(policy, listed, flow)
    assert float(z[0]) == pytest.approx(2 / 3 + 0.003)
    scored = GFlowNetActor(env, policy).score(batch, no_tokens(batch), listed.graph, listed.edges, Sampling())
    backward = made.estimator.backward_policy(batch, made.embedder(batch), listed)
    reward = made.reward(batch, listed, flow)
    delta = residual(z.log()[listed.graph], scored.log_pf, backward.log_pb, reward.log_reward)
    assert delta.abs().max() < 1e-9
    p_f = dict(zip(stored_paths(batch, listed.edges), scored.log_pf.exp().tolist(), strict=True))
    assert p_f[3, 4] == pytest.approx(2 * p_f[0, 2])


def test_the_losses_of_the_backward_head() -> None:
    """3.2.4: of (e0, e2) and the empty walk, at uniform: the NLL is log 6 over the one with edges; the nodes reached, 1
    and 2, have the entropies log 2 and log 3."""
    batch, made = small_batch([GRAPH]), module(estimator={"log_pb_mode": "learned", "pb_entropy_coef": 0.5})
    found = made.estimator.backward_policy(batch, made.embedder(batch), walks((0, 2), ()))
    assert float(found.terms["pb_nll"].detach()) == pytest.approx(math.log(6))
    assert float(found.terms["pb_entropy"].detach()) == pytest.approx(-0.5 * (math.log(2) + math.log(3)) / 2)
    assert float(found.avg_entropy) == pytest.approx((math.log(2) + math.log(3)) / 2)
    assert float(found.terms["pb_l2"]) == 0.0


# ---------------------------------------------------------------- 4: the reward


@pytest.mark.parametrize(
    ("lambda_reach", "path", "log_reward"),
    [
        (0.0, (3, 4), 0.0),
        (0.0, (3,), math.log(0.001)),
        (0.5, (3, 4), -0.25),
        (0.5, (3,), math.log(0.001) - 0.5),
    ],
)
def test_the_log_reward_is_over_the_largest(
    lambda_reach: float, path: tuple[int, ...], log_reward: float
) -> None:
    """4.2. Answers 2 and 4, of which (e3, e4) meets one: 0.5 * 1/2 - 0.5 = -0.25."""
    graph = SmallGraph(GRAPH.name, GRAPH.triples, (0,), (2, 4)) if lambda_reach else GRAPH
    batch = small_batch([graph])
    made = AnswerOnlyReward(RewardSection(lambda_reach=lambda_reach))
    found = made(batch, walks(path), batch.question_emb)
    assert float(found.log_reward[0]) == pytest.approx(log_reward)
    assert float(found.reward[0]) == pytest.approx(math.exp(log_reward))


# ---------------------------------------------------------------- 6: teacher forcing


def test_teacher_forcing_adds_minus_the_log_likelihood_of_the_known_path() -> None:
    """6: L = L_TB + L_GT with L_GT = -log P_F(e3, e4); P_B uniform has no losses of its own."""
    batch, made = small_batch([GRAPH]), module()
    replay = shortest_paths(batch, [0], likelihood=True)
    found = made.losses(batch, torch.arange(1), Sampling(prior_alpha=2.0), replay)
    assert set(found.terms) == {"tb_loss", "gt_loss"}
    taught = made.actor.score(
        batch,
        made.embedder(batch),
        torch.zeros(1, dtype=torch.long),
        walks((3, 4)).edges,
        Sampling(prior_alpha=2.0),
    )
    gt_loss = float(found.terms["gt_loss"].detach())
    assert gt_loss == pytest.approx(-float(taught.log_pf.detach())) and gt_loss > 0
    delta = float(found.residual[0])
    assert float(found.total.detach()) == pytest.approx(delta**2 + gt_loss)


# ---------------------------------------------------------------- 9: figures and names


def test_figures_of_a_single_walk() -> None:
    """9.1. The known path is (e3, e4): of (e3) precision 1, recall 1/2, F1 2/3; of (e0, e2), which meets the answer
    another way, 0. 4.1: (e3, e4) visits 0, 3 and 2, of which one is the answer: precision 1/3, recall 1, F1 1/2."""
    batch, own = small_batch([GRAPH]), walks((3,), (0, 2), (3, 4))
    found = trajectory_figures(batch, own, AnswerOnlyReward(RewardSection())(batch, own, batch.question_emb))
    assert found["success_mean"].tolist() == [0, 1, 1]
    assert found["path_hit_precision"].tolist() == pytest.approx([1, 0, 1])
    assert found["path_hit_recall"].tolist() == pytest.approx([0.5, 0, 1])
    assert found["path_hit_f1"].tolist() == pytest.approx([2 / 3, 0, 1])
    assert found["answer_precision"].tolist() == pytest.approx([0, 1 / 3, 1 / 3])
    assert found["answer_f1"].tolist() == pytest.approx([0, 0.5, 0.5])


def test_figures_over_k_draws() -> None:
    """9.2, of the draws (e3), (e3), (e0, e2), (e3, e4): the third is the first to meet the answer; a repeated walk
    counts as one path. Window of one edge: F1 2/3, 2/3, 0, 2/3, mean 1/2."""
    batch, own = small_batch([GRAPH]), walks((3,), (3,), (0, 2), (3, 4))
    reward = AnswerOnlyReward(RewardSection())(batch, own, batch.question_emb)
    found = {
        name: float(value[0])
        for name, value in question_figures(batch, own, reward, [1], [1, 2, 3, 4]).items()
    }
    assert [found[f"success@{k}"] for k in (1, 2, 3, 4)] == [0, 0, 1, 1]
    assert [found[f"answer_hit_any@{k}"] for k in (2, 3)] == [0, 1]
    assert [found[f"path_hit_any@{k}"] for k in (1, 4)] == [1, 1]
    assert found["answer_recall_union@4"] == 1 == found["modes_found"] == found["modes_recall"]
    assert found["unique_paths"] == 3
    assert found["path_hit_f1@1"] == pytest.approx(0.5)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any], list[StageResult]]:
    """A run of all stages that names sizes alone."""
    folder = tmp_path_factory.mktemp("run")
    config = Config.model_validate(
        {
            "graphs": {"nodes": 400, "edges": 80, "train_size": 40, "validation_size": 10, "test_size": 12,
                       "embedder": "hashed", "max_hops": 2},
            "retriever": {"epochs": 2, "hidden": 32},
            "gflownet": {"steps": 20, "batch_size": 8, "num_eval_rollouts": 10, "success_k": [1, 10],
                         "eval_every": 10, "policy": {"hidden": 16}},
        }
    )  # fmt: skip
    results: list[StageResult] = []
    return (
        folder,
        run_stages(folder, ("graphs", "retriever", "agent-graphs", "gflownet"), config, results),
        results,
    )


def test_the_files(finished: tuple[Path, list[Any], list[StageResult]]) -> None:
    """0.2, 0.3: an LMDB of retrieval graphs with a record a sample, a .pt file of agent graphs for each split."""
    folder = finished[0] / "gflownet"
    assert (folder / "g_retrieval.lmdb").is_dir()
    assert [(folder / "g_agent" / f"{split}.pt").is_file() for split in ("train", "validation", "test")] == [
        True
    ] * 3


def test_a_step_draws_one_walk_a_question_and_no_backward_head_learns(
    finished: tuple[Path, list[Any], list[StageResult]],
) -> None:
    """7: K = 1; 3.2: uniform; 5.2, 6: the loss is L_TB + L_GT."""
    for step in (event for event in finished[1] if isinstance(event, SamplerStep)):
        assert step.pb_nll is None and step.gt_loss is not None
        assert step.loss == pytest.approx(step.tb_loss + step.gt_loss, rel=1e-5)


def test_success_at_k_is_over_independent_draws(finished: tuple[Path, list[Any], list[StageResult]]) -> None:
    """9.2: the share of questions of which one of K draws meets an answer; the headline is theirs."""
    _, events, results = finished
    questions = [event for event in events if isinstance(event, QuestionSampled)]
    test = {
        event.method: event
        for event in events
        if isinstance(event, SamplerEvaluated) and event.split == "test"
    }
    assert questions and not any(question.distinct for question in questions)
    assert {sum(path.count for path in question.paths) for question in questions} == {10}
    met = sum(any(path.answers for path in question.paths) for question in questions) / len(questions)
    assert test["gflownet"].metrics["success@10"] == pytest.approx(met)
    (verdict,) = (result.verdict for result in results if result.verdict is not None)
    assert verdict.value == pytest.approx(test["gflownet"].metrics["answer_recall_union@10"])
    assert list(test)[:2] == ["gflownet", "distinct"]


def test_figures_are_exported_as_train_val_and_test(
    finished: tuple[Path, list[Any], list[StageResult]],
) -> None:
    """9.1, 9.2: the names of the log."""
    tables = layout.metrics(finished[0]).parent
    with (tables / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    single = (
        "rollout_reward",
        "success_mean",
        "answer_f1",
        "path_hit_precision",
        "path_hit_recall",
        "path_hit_f1",
    )
    over_k = ("success@10", "path_hit_any@10", "answer_hit_any@10", "answer_recall_union@10", "path_hit_f1@3",
              "modes_found", "modes_recall", "unique_paths", "logpf_logr_corr", "logpf_logr_spearman")  # fmt: skip
    named = [f"train/{name}" for name in single]
    named += [f"{split}/{name}" for split in ("val", "test") for name in (*single, *over_k)]
    assert set(named) <= set(rows[0])
    assert next(row["step"] for row in rows if row["val/success@10"]) == "10"
    with (tables / "metrics.csv").open(newline="") as file:
        methods = [row["method"] for row in csv.DictReader(file)]
    assert set(methods) == {"gflownet", "distinct", "greedy", "beam", "prior"}


def test_the_estimator_knows_three_backward_policies_and_the_policy_three_heads() -> None:
    """3.1, 3.2."""
    for mode in ("uniform", "learned", "exact"):
        assert EstimatorSection.model_validate({"log_pb_mode": mode}).log_pb_mode == mode
    for kind in ("edge_mlp_mixer", "edge_frontier", "edge_gat"):
        assert PolicySection.model_validate({"kind": kind}).kind == kind
