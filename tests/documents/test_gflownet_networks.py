"""The networks of the GFlowNet as its document describes them, on an instance small enough for arithmetic by hand.

H = 4, embeddings of D = 3, a retriever's projector of width R = 5, paths of at most T_max = 2 edges. The graph:
0 -> 1 (relation 0), 0 -> 2 (relation 1), 1 -> 2 (relation 0); 0 is the start, 2 the answer.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from engine.config.config import Config
from engine.config.gflownet import GFlowNetSection, PolicySection, RetrieverSection
from engine.errors import DataError
from engine.gflownet import layout
from engine.gflownet.graphs.tables import EmbeddingTables
from engine.gflownet.retriever.distance_encoding import distance_encoding
from engine.gflownet.retriever.retriever import Retriever
from engine.gflownet.retriever.trained_projector import trained_projector
from engine.gflownet.sampler.environment import Walks
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.module import GFlowNetModule
from engine.gflownet.sampler.projector import EmbeddingProjector
from engine.gflownet.training.trained_sampler import trained_sampler
from tests.engine.gflownet.small_graphs import made_batch
from tests.engine.gflownet.small_run import run_stages, small_config

D, R, H, STEPS = 3, 5, 4, 2
NODES, EDGES, GRAPHS = 3, 3, 1


def graph() -> GraphBatch:
    generator = torch.Generator().manual_seed(0)
    return made_batch(
        question_emb=torch.randn(GRAPHS, D, generator=generator),
        node_emb=torch.randn(NODES, D, generator=generator),
        relation_emb=torch.randn(2, D, generator=generator),
        node_graph=torch.zeros(NODES, dtype=torch.long),
        edge_index=torch.tensor([[0, 0, 1], [1, 2, 2]]),
        edge_relation=torch.tensor([0, 1, 0]),
        edge_scores=torch.tensor([0.5, 0.25, 0.1]),
        edge_labels=torch.zeros(EDGES),
        starts=torch.tensor([0]),
        answers=torch.tensor([2]),
        gt_path_edges=torch.empty(0, dtype=torch.long),
    )


def module(projector: EmbeddingProjector | None = None, **section: Any) -> GFlowNetModule:
    torch.manual_seed(0)
    settings = {"policy": {"hidden": H, "heads": 2}, "environment": {"max_steps": STEPS}} | section
    return GFlowNetModule(D, GFlowNetSection.model_validate(settings), projector)


def numbers(part: nn.Module) -> int:
    return sum(parameter.numel() for parameter in part.parameters())


# ---------------------------------------------------------------- 3.1: the embedder


def test_all_tokens_have_one_width():
    """3.1: edges, questions and the summary of the starts are vectors of R^H; 3.2.3: nodes are, too."""
    batch = graph()
    tokens = module().embedder(batch)
    assert tokens.edge.shape == (EDGES, H)
    assert tokens.node.shape == (NODES, H)
    assert tokens.question.shape == (GRAPHS, H)
    assert tokens.start_summary.shape == (GRAPHS, H)


def test_by_default_the_embedder_uses_the_retriever_s_projector_as_it_is():
    """3.1 and 7.2: entity, relation and question vectors go through the retriever's projector."""
    embedder = GFlowNetSection().embedder
    assert (embedder.use_retriever_projector, embedder.freeze_projector) == (True, True)
    projector = EmbeddingProjector(D, R)
    with torch.no_grad():  # of the 3 numbers of a text, R keeps the first and doubles the second
        for part in (projector.question, projector.entity, projector.relation):
            part.weight.zero_()
            part.bias.zero_()
            part.weight[0, 0], part.weight[1, 1] = 1.0, 2.0
    sampler = module(projector)
    question: Any = sampler.embedder.question
    batch = graph()
    x, y, _ = batch.question_emb[0].tolist()
    by_hand = question[1].weight[:, 0] * x + question[1].weight[:, 1] * 2 * y + question[1].bias
    torch.testing.assert_close(sampler.embedder(batch).question[0], by_hand)
    assert not any(parameter.requires_grad for parameter in projector.parameters())
    assert all(parameter.requires_grad for parameter in question[1].parameters())
    # What the texts say in their third number is no longer there: the projector is shared by all three kinds.
    batch.question_emb[:, 2], batch.node_emb[:, 2], batch.relation_emb[:, 2] = 9.0, 9.0, 9.0
    torch.testing.assert_close(sampler.embedder(batch).edge, module(projector).embedder(graph()).edge)


def test_a_projector_that_is_not_frozen_learns_with_the_sampler():
    projector = EmbeddingProjector(D, R)
    sampler = module(projector, embedder={"freeze_projector": False})
    sampler.embedder(graph()).edge.square().sum().backward()
    assert all(bool(p.grad is not None and p.grad.any()) for p in projector.parameters())


# ---------------------------------------------------------------- 3.1: the three policies


def test_the_policies_are_the_three_of_the_document_and_score_edges_and_stop():
    """3.1: EdgeMLPMixerPolicy, EdgeFrontierPolicy, EdgeGATPolicy give a logit for each edge and for STOP; 2.1: STOP is
    legal from the beginning, and at first only edges that leave a start are."""
    batch = graph()
    names = {
        "edge_mlp_mixer": "EdgeMLPMixerPolicy",
        "edge_frontier": "EdgeFrontierPolicy",
        "edge_gat": "EdgeGATPolicy",
    }
    for kind, name in names.items():
        sampler = module(policy={"kind": kind, "hidden": H, "heads": 2})
        assert type(sampler.policy).__name__ == name
        tokens = sampler.embedder(batch)
        keys = sampler.policy.prepare(batch, tokens)
        assert keys.shape == (EDGES, H)
        state = sampler.env.reset(torch.tensor([0]))
        frontier = sampler.env.frontier(batch, state)
        edge, stop = sampler.policy.logits(keys, sampler.policy.begin(tokens, state.walks.graph), frontier, 0)
        assert frontier.edge.tolist() == [0, 1]
        assert edge.shape == (2,) and stop.shape == (1,)
    assert PolicySection().kind == "edge_gat"


def test_how_many_numbers_learn():
    """By hand, with W(a, b) = a * b + b for a linear layer with a bias."""

    def layer(a: int, b: int) -> int:
        return a * b + b

    # Tokens of three kinds of text; match and tail without bias, head; LayerNorm.
    rest = H * H + layer(H, H) + H * H + 2 * H + layer(H, H)
    assert numbers(module().embedder) == 3 * layer(D, H) + rest == 128
    # Ours, by name: structure (2 degrees, 2 flags), and a score without bias.
    ours = module(token_features=["scores", "structure"]).embedder
    assert numbers(ours) == 128 + layer(4, H) + H == 152
    shared = module(EmbeddingProjector(D, R))
    assert numbers(shared.embedder) == 3 * (layer(D, R) + layer(R, H)) + rest == 212
    learning = [parameter.numel() for parameter in shared.embedder.parameters() if parameter.requires_grad]
    assert sum(learning) == 212 - 3 * layer(D, R) == 152
    # GRU of 3 gates, a row for each of 0..T_max steps, the halves of the first layer, heads of edge and STOP.
    mixer = layer(2 * H, H) + 2 * 3 * (H * H + H) + (STEPS + 1) * H + layer(H, H) + H * H
    mixer += layer(H, 1) + layer(H, H) + layer(H, 1)
    assert numbers(module(policy={"kind": "edge_mlp_mixer", "hidden": H}).policy) == mixer == 234
    # Two layers of attention with 2 heads of width 2: own and reached node, edge without bias, 4 numbers, LayerNorm.
    attention = layer(H, 2 * H) + H * H + H + 2 * H
    assert numbers(module().policy) == mixer + 2 * attention + layer(2 * H, H) == 406
    # 3.2.3: the backward head is an MLP over R^3H; 3.3: log Z of the joined summary and question.
    context, log_z, backward = layer(2 * H, H) + layer(H, H), layer(H, 1), layer(3 * H, H) + layer(H, 1)
    assert numbers(module().estimator) == context + log_z + backward == 118


# ---------------------------------------------------------------- 3.2.3, 3.3: the backward head and log Z


def test_the_backward_head_begins_at_the_uniform_policy():
    """3.2.3: the last layer begins at zero, so P_B(u | v) = 1 / d_in(v): node 2 has two edges, node 1 has one."""
    sampler = module(estimator={"log_pb_mode": "learned"})
    first, _, last = sampler.estimator.backward_head
    assert isinstance(first, nn.Linear) and first.in_features == 3 * H
    assert isinstance(last, nn.Linear) and not last.weight.any() and not last.bias.any()
    batch = graph()
    walks = Walks(
        torch.tensor([0, 0]), torch.tensor([[0, 2], [1, -1]]), torch.tensor([[0, 1, 2], [0, 2, -1]])
    )
    log_pb = sampler.estimator.backward_policy(batch, sampler.embedder(batch), walks).log_pb
    assert log_pb.tolist() == pytest.approx([math.log(1 / 1) + math.log(1 / 2), math.log(1 / 2)])


def test_the_backward_head_reads_edge_question_and_target():
    """3.2.3: h_e = [phi_e, phi_q, phi_v], log P_B the log-softmax of f(h_e) over the edges that reach v."""
    sampler = module(estimator={"log_pb_mode": "learned"})
    head: Any = sampler.estimator.backward_head
    with torch.no_grad():
        head[2].weight.normal_()
    batch = graph()
    tokens = sampler.embedder(batch)
    walks = Walks(torch.tensor([0]), torch.tensor([[1, -1]]), torch.tensor([[0, 2, -1]]))
    scores = [head(torch.cat([tokens.edge[e], tokens.question[0], tokens.node[2]])).item() for e in (1, 2)]
    by_hand = scores[0] - math.log(math.exp(scores[0]) + math.exp(scores[1]))
    assert sampler.estimator.backward_policy(batch, tokens, walks).log_pb.tolist() == pytest.approx([by_hand])


def test_log_z_is_one_number_for_each_graph():
    """3.3: from the summary of the starts and the question."""
    sampler = module()
    tokens = sampler.embedder(graph())
    assert sampler.log_z(tokens).shape == (GRAPHS,)
    context = sampler.estimator.build_context(tokens.start_summary, tokens.question)
    assert context.shape == (GRAPHS, H)
    torch.testing.assert_close(sampler.log_z(tokens), sampler.estimator.log_z(context))


# ---------------------------------------------------------------- 0.2: the retriever


def test_the_retriever_sees_how_far_the_question_s_entities_are():
    """0.2: `topic_one_hot` marks them; two rounds each way by default. Of 0 -> 1, 0 -> 2, 1 -> 2, node 2 hears half of
    the mark from 0 and nothing from 1 in the first round, and half of what 1 heard in the second."""
    topic = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    encoding = distance_encoding(
        topic, torch.tensor([[0, 0, 1], [1, 2, 2]]), RetrieverSection().distance_rounds
    )
    assert encoding.shape == (NODES, 2 * (1 + 2 * 2))
    marked = encoding[:, 1::2].tolist()  # own, forward twice, backward twice
    assert marked == [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0.5, 0.5, 0, 0]]


def test_the_retriever_s_parameters_by_hand():
    """Projector of three texts, both ends with their 10 numbers of distance, match, two layers."""
    ends, match = 2 * (R + 10) * R, R * R
    assert numbers(Retriever(D, R, 2)) == 3 * (D * R + R) + ends + match + (R * R + R) + (R + 1) == 271


# ---------------------------------------------------------------- 9.1: early stopping


def test_early_stopping_goes_by_single_trajectories_on_validation():
    """9.1: rollout_reward, success_mean, answer_f1 and path_hit_f1 decide; the document names no patience."""
    section = GFlowNetSection().early_stopping
    assert (section.monitor, section.restore_best, section.patience) == ("rollout_reward", True, None)
    for name in ("rollout_reward", "success_mean", "answer_f1", "path_hit_f1"):
        GFlowNetSection.model_validate({"early_stopping": {"monitor": name}})


# ---------------------------------------------------------------- a run of all of it


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Config]:
    folder, config = tmp_path_factory.mktemp("run"), small_config(gflownet={"steps": 4})
    run_stages(folder, ("graphs", "retriever", "agent-graphs", "gflownet"), config)
    return folder, config


def test_a_run_s_sampler_holds_the_projector_that_its_retriever_learned(run: tuple[Path, Config]):
    folder, config = run
    width = EmbeddingTables.load(folder).width
    learned = trained_projector(folder, width, config.retriever.hidden)
    sampler, _ = trained_sampler(folder, config)
    for name in ("question", "entity", "relation"):
        held: Any = getattr(sampler.embedder, name)
        own: Any = getattr(learned, name)
        assert torch.equal(held[0].weight, own.weight) and torch.equal(held[0].bias, own.bias)
    torch.manual_seed(0)
    assert not torch.equal(
        learned.entity.weight, EmbeddingProjector(width, config.retriever.hidden).entity.weight
    )


def test_without_a_retriever_of_the_run_s_own_there_is_one_clear_error(
    run: tuple[Path, Config], tmp_path: Path
):
    """Given scores (0.2) come without a projector."""
    folder, config = run
    (tmp_path / "gflownet").mkdir()
    for path in (folder / "gflownet").iterdir():
        if path not in (layout.retriever_checkpoint(folder), layout.checkpoint(folder)):
            (tmp_path / "gflownet" / path.name).symlink_to(path)
    with pytest.raises(
        DataError, match=r"no retriever was trained here[\s\S]*use_retriever_projector: false"
    ):
        run_stages(tmp_path, ("gflownet",), config)
    own = small_config(gflownet={"steps": 1, "embedder": {"use_retriever_projector": False}})
    (tmp_path / "gflownet" / "training.jsonl").unlink()
    run_stages(tmp_path, ("gflownet",), own)
