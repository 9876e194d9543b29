"""Nodes that are mere ids have no text: they differ by what lies behind them, and the default policy has to see it."""

from __future__ import annotations

from dataclasses import replace

import torch

from engine.config.gflownet import GFlowNetSection, PolicySection
from engine.gflownet.sampler.actor import Sampling
from engine.gflownet.sampler.environment import enumerate_walks
from engine.gflownet.sampler.module import GFlowNetModule
from tests.engine.gflownet.small_graphs import WIDTH, SmallGraph, small_batch

UNNAMED = range(1, 7)
# The start leads to six unnamed nodes by one relation; each leads on to a node of its own, one of them to the answer.
GRAPH = SmallGraph(
    "unnamed",
    (*((0, 0, node) for node in UNNAMED), *((node, 1 + (node == 4), 6 + node) for node in UNNAMED)),
    (0,),
    (10,),
)


def test_the_default_policy_tells_nodes_without_text_apart():
    """P(success) of the exact sampler is 0.988; of one that takes the six for the same, about 1/6."""
    batch = small_batch([GRAPH])
    without_text = batch.node_emb.clone()
    without_text[1:7] = 0
    batch = replace(batch, node_emb=without_text, edge_scores=torch.full_like(batch.edge_scores, 0.5))
    torch.manual_seed(0)
    module = GFlowNetModule(WIDTH, GFlowNetSection(policy=PolicySection(hidden=16))).double()
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-2)
    for step in range(250):
        optimizer.zero_grad()
        seeds = torch.arange(16) + 16 * step
        module.losses(batch, seeds, Sampling(random_action_prob=0.1)).total.backward()
        optimizer.step()
    with torch.no_grad():
        walks = enumerate_walks(module.env, batch, 0)
        p = module.actor.score(
            batch, module.embedder(batch), walks.graph, walks.edges, Sampling()
        ).log_pf.exp()
        success = module.reward(batch, walks, p).success
    assert float(p[success].sum()) > 0.95
