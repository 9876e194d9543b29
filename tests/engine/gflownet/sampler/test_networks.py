"""Embedder and policies against loops over nodes and edges (spec GFlowNet 3.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from engine.config.gflownet import PolicySection
from engine.gflownet.sampler.embedder import GraphEmbedder, Tokens
from engine.gflownet.sampler.environment import Frontier
from engine.gflownet.sampler.graph_batch import GraphBatch
from engine.gflownet.sampler.policies.edge_frontier import EdgeFrontierPolicy
from engine.gflownet.sampler.policies.edge_gat import EdgeGATPolicy, _Attention
from engine.gflownet.sampler.policies.edge_mlp_mixer import EdgeMLPMixerPolicy
from engine.gflownet.sampler.policies.make import make_policy
from engine.gflownet.sampler.segments import argmax_with_stop, log_softmax
from tests.engine.gflownet.small_graphs import WIDTH, SmallGraph, small_batch

HIDDEN = 8
FORK = SmallGraph("fork", ((0, 0, 2), (0, 1, 2), (1, 2, 2), (2, 0, 3)), (0, 1), (3,))
CHAIN = SmallGraph("chain", ((0, 0, 1), (1, 0, 2), (2, 0, 3)), (0,), (3,))


def made(batch: GraphBatch, features: Sequence[str] = ()) -> tuple[GraphEmbedder, Tokens]:
    torch.manual_seed(0)
    embedder = GraphEmbedder(WIDTH, HIDDEN, features=features).double()
    return embedder, embedder(batch)


@pytest.mark.parametrize("features", [(), ("scores",), ("structure",), ("scores", "structure")])
def test_tokens_are_those_of_the_literal_reading(features: Sequence[str]):
    """Of texts alone (spec 3.1); with features, which are ours, of these too."""
    batch = small_batch([FORK, CHAIN])
    batch.node_emb[1] = 0  # an entity without text
    embedder, tokens = made(batch, features)
    first_node, first_edge = 0, 0
    for number, graph in enumerate((FORK, CHAIN)):
        question = embedder.question(batch.question_emb[number])
        nodes = []
        for node in range(graph.nodes):
            leaving = sum(head == node for head, _, _ in graph.triples)
            reaching = sum(tail == node for _, _, tail in graph.triples)
            row = batch.node_emb[first_node + node]
            looks = [math.log(1 + leaving), math.log(1 + reaching), node in graph.starts, bool(row.any())]
            structure = torch.tensor([float(look) for look in looks], dtype=torch.float64)
            token = embedder.entity(row)
            nodes.append(token + embedder.structure(structure) if embedder.structure else token)
            assert torch.allclose(tokens.node[first_node + node], nodes[node])
        summary = torch.stack([nodes[start] for start in graph.starts]).mean(0)
        assert torch.allclose(tokens.start_summary[number], summary)
        assert torch.allclose(tokens.question[number], question)
        for place, (head, relation, tail) in enumerate(graph.triples):
            asked = embedder.relation(batch.relation_emb[relation])
            own = [
                e
                for e in range(len(batch.heads))
                if batch.edge_graph[e] == number and batch.edge_local[e] == place
            ]
            score = (0.05 + 0.9 * ((7 * head + 3 * tail + relation) % 11) / 11,)  # as `small_batch` gives it
            fused = (
                embedder.head(nodes[head]) + embedder.tail(nodes[tail]) + asked + embedder.match(asked * question)
            )  # fmt: skip
            if embedder.score:
                fused = fused + embedder.score(torch.tensor(score, dtype=torch.float64).log())
            assert torch.allclose(tokens.edge[own[0]], embedder.edge_out(fused)), (graph.name, place)
        first_node, first_edge = first_node + graph.nodes, first_edge + len(graph.triples)
    assert [embedder.score is None, embedder.structure is None] == [
        "scores" not in features,
        "structure" not in features,
    ]


def test_the_retriever_s_scores_change_no_token_unless_they_are_asked_for():
    batch = small_batch([FORK])
    other = replace(batch, edge_scores=batch.edge_scores.flip(0))
    (embedder, tokens), (_, scored) = made(batch), made(batch, ("scores",))
    assert torch.equal(embedder(other).edge, tokens.edge)
    torch.manual_seed(0)
    assert not torch.allclose(made(other, ("scores",))[1].edge, scored.edge)


def test_in_edge_gat_attention_begins_with_weights_of_unit_length():
    """Each of 256 weights is drawn with variance 1/256, so that their squares sum to about 1."""
    torch.manual_seed(0)
    attend = _Attention(256, 4).attend
    assert attend.shape == (4, 64) and attend.square().sum().item() == pytest.approx(1.0, rel=0.2)


def test_in_edge_gat_a_node_hears_what_can_be_reached_from_it():
    batch = small_batch([CHAIN])
    _, tokens = made(batch)
    policy = EdgeGATPolicy(HIDDEN, 3, layers=2).double()
    keys = policy.prepare(batch, tokens)
    for changed in range(4):
        node = tokens.node.clone()
        node[changed, 0] += 1.0
        moved = policy.prepare(batch, Tokens(tokens.edge, node, tokens.question, tokens.start_summary)) - keys
        # Edge e leads from node e to e + 1, whose two rounds reach as far as e + 3.
        assert (moved.abs().max(1).values > 1e-9).tolist() == [
            edge <= changed <= edge + 3 for edge in range(3)
        ]
    assert policy.look_ahead == 2


def test_in_edge_gat_the_shares_of_a_node_are_those_of_its_leaving_edges():
    """All messages alike: what is heard is that message, however many edges leave; nothing, where none does."""
    batch = small_batch([FORK])
    layer: Any = EdgeGATPolicy(HIDDEN, 3).double().layers[0]
    node, edge = torch.ones(4, HIDDEN).double(), torch.zeros(4, HIDDEN).double()
    message = layer.node(node)[0, HIDDEN:]
    for number, heard in enumerate((message, message, message, torch.zeros(HIDDEN).double())):
        assert torch.allclose(layer(batch, node, edge)[number], layer.norm(node[number] + heard))


def attention(layer: Any, batch: GraphBatch, node: torch.Tensor, edge: torch.Tensor) -> torch.Tensor:
    """The layer, read out edge by edge: GATv2's score (Brody et al. 2022, equation 7), a softmax over the edges that
    leave a node, each head by itself."""
    own, reached = layer.node(node)[:, :HIDDEN], layer.node(node)[:, HIDDEN:]
    width, rows = HIDDEN // layer.heads, []
    for number in range(node.shape[0]):
        leaving = [e for e in range(len(batch.heads)) if batch.heads[e] == number]
        messages = [reached[batch.tails[e]] + layer.edge.weight @ edge[e] for e in leaving]
        heard = torch.zeros(HIDDEN).double()
        for head in range(layer.heads):
            part = slice(head * width, (head + 1) * width)
            scores = []
            for message in messages:
                mixed = own[number][part] + message[part]
                scores.append(
                    math.exp(float((layer.attend[head] * torch.where(mixed > 0, mixed, 0.2 * mixed)).sum()))
                )
            for score, message in zip(scores, messages, strict=True):
                heard[part] += score / sum(scores) * message[part]
        rows.append(layer.norm(node[number] + heard))
    return torch.stack(rows)


def test_edge_gat_is_gatv2_read_out_edge_by_edge_and_pygs_layer_at_equal_weights():
    """Parallel edges and a self-loop too; GATv2Conv gets each edge, with the node behind it, as a source."""
    from torch_geometric.nn import GATv2Conv

    graph = SmallGraph("knot", ((0, 0, 1), (0, 1, 1), (1, 2, 1), (1, 0, 2), (0, 2, 3), (3, 1, 0)), (0,), (3,))
    batch = small_batch([graph, FORK])
    generator = torch.Generator().manual_seed(5)
    node = torch.randn(len(batch.node_graph), HIDDEN, generator=generator, dtype=torch.float64)
    edge = torch.randn(len(batch.heads), HIDDEN, generator=generator, dtype=torch.float64)
    torch.manual_seed(1)
    layer: Any = EdgeGATPolicy(HIDDEN, 3, heads=2).double().layers[1]
    found = layer(batch, node, edge)
    assert torch.allclose(found, attention(layer, batch, node, edge), atol=1e-12)
    conv = GATv2Conv((2 * HIDDEN, HIDDEN), HIDDEN // 2, heads=2, add_self_loops=False).double()
    own, reached = layer.node.weight.chunk(2)
    with torch.no_grad():
        conv.lin_l.weight.copy_(torch.cat([reached, layer.edge.weight], 1))
        conv.lin_r.weight.copy_(own)
        conv.lin_r.bias.copy_(layer.node.bias[:HIDDEN])
        conv.lin_l.bias.copy_(layer.node.bias[HIDDEN:])
        conv.att.copy_(layer.attend[None])
    sources = torch.stack([torch.arange(len(batch.heads)), batch.heads])
    heard = conv((torch.cat([node[batch.tails], edge], 1), node), sources)
    assert torch.allclose(found, layer.norm(node + heard), atol=1e-12)


def test_log_softmax_by_group_by_hand_where_scores_are_far_apart():
    """0 and log 3 share 1 to 3; 1,000 beside 0 leaves log -1,000, which a softmax of its own could not hold."""
    logits = torch.tensor([0.0, 1000.0, math.log(3), 0.0, -7.0], dtype=torch.float64)
    owner = torch.tensor([0, 2, 0, 2, 1])
    expected = [math.log(1 / 4), 0.0, math.log(3 / 4), -1000.0, 0.0]
    assert log_softmax(logits, owner, 3).tolist() == pytest.approx(expected)


def test_edge_frontier_looks_over_the_mean_of_its_edges_and_their_number():
    policy = EdgeFrontierPolicy(HIDDEN, 3).double()
    keys, memory = torch.randn(3, HIDDEN).double(), torch.randn(2, HIDDEN).double()
    frontier = Frontier(
        owner=torch.tensor([0, 0, 0]), edge=torch.tensor([0, 1, 2])
    )  # the second walk has none
    edges, stops = policy.logits(keys, memory, frontier, 2)
    views = [torch.cat([keys.mean(0), torch.tensor([math.log(4)])]), torch.zeros(HIDDEN + 1).double()]
    for walk, view in enumerate(views):
        state = memory[walk] + policy.steps.weight[2]
        context = policy.walk_half(torch.cat([state, policy.rivals(view)]))
        assert torch.allclose(stops[walk], policy.stop(context)[0])
        if walk == 0:
            assert torch.allclose(edges, policy.score(keys + context)[:, 0])


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("edge_mlp_mixer", EdgeMLPMixerPolicy),
        ("edge_frontier", EdgeFrontierPolicy),
        ("edge_gat", EdgeGATPolicy),
    ],
)
def test_a_policy_is_made_as_configured(kind: str, expected: type):
    policy = make_policy(PolicySection.model_validate({"kind": kind, "hidden": 8, "heads": 2}), 3)
    assert type(policy) is expected
    assert "score.2.weight" in policy.state_dict(), (
        "as in the files of older runs, where a dropout stood before it"
    )
    assert [layer.heads for layer in getattr(policy, "layers", [])] == [2] * policy.look_ahead
    assert policy.steps.num_embeddings == 4


def test_of_equals_the_stop_is_likeliest_and_then_the_first():
    """Four walkers: stop as good as an edge, two edges as good, stop the best, no edge at all."""
    values, owner = torch.tensor([1.0, 3.0, 2.0, 2.0, 0.5]), torch.tensor([0, 0, 1, 1, 2])
    stop = torch.tensor([3.0, 1.0, 0.9, -7.0])
    assert argmax_with_stop(values, owner, stop).tolist() == [-1, 2, -1, -1]
    values[3] = math.nan
    assert argmax_with_stop(values, owner, stop).tolist() == [-1, -1, -1, -1], "no edge is the likeliest"
