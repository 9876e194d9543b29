"""P_F under a temperature and the retriever's prior, against the definition written out state by state (float64)."""

from __future__ import annotations

import math

import pytest
import torch

from engine.gflownet.sampler.actor import SMALLEST_SCORE, Sampling, _explore
from engine.gflownet.sampler.graph_batch import GraphBatch
from tests.engine.gflownet.sampler.test_exactness import STEPS, no_tokens, tabular
from tests.engine.gflownet.small_graphs import SMALL_GRAPHS, small_batch
from tests.engine.gflownet.tabular_policy import TabularPolicy


def by_definition(
    batch: GraphBatch, policy: TabularPolicy, path: list[int], graph: int, sampling: Sampling
) -> float:
    """log P_F of the edges `path` and STOP: at each state a softmax of (logit + alpha * log score) / temperature over
    its edges, and of STOP's logit / temperature."""
    state, log_pf = int(policy.root[graph]), 0.0
    for step, action in enumerate([*path, None]):
        if step == STEPS:
            break
        after = policy.after[state].tolist()
        logits: dict[int | None, float] = {None: float(policy.stop[state])}
        for edge in (edge for edge, child in enumerate(after) if child >= 0):
            score = max(float(batch.edge_scores[edge]), SMALLEST_SCORE)
            logits[edge] = float(policy.edge[state, edge]) + sampling.prior_alpha * math.log(score)
        weights = {name: math.exp(logit / sampling.temperature) for name, logit in logits.items()}
        log_pf += math.log(weights[action] / sum(weights.values()))
        state = after[action] if action is not None else state
    return log_pf


@pytest.mark.parametrize(
    "sampling",
    [Sampling(), Sampling(temperature=0.5), Sampling(temperature=3.0, prior_alpha=1.5)],
    ids=["plain", "cold", "hot with prior"],
)
def test_temperature_divides_all_logits_stops_among_them_and_the_prior_too(sampling: Sampling):
    batch = small_batch(SMALL_GRAPHS)
    actor, policy, walks = tabular(batch)
    torch.manual_seed(4)
    for parameter in policy.parameters():
        torch.nn.init.normal_(parameter.requires_grad_(False))
    scored = actor.score(batch, no_tokens(batch), walks.graph, walks.edges, sampling).log_pf
    expected = [
        by_definition(batch, policy, [edge for edge in edges if edge >= 0], graph, sampling)
        for graph, edges in zip(walks.graph.tolist(), walks.edges.tolist(), strict=True)
    ]
    assert scored.tolist() == pytest.approx(expected, abs=1e-10)


def test_exploration_draws_its_share_from_all_actions_alike():
    """A fifth: of two edges and STOP a fifteenth each, beside four fifths of their own; of STOP alone all."""
    log_p, stop = torch.tensor([0.5, 0.25]).log(), torch.tensor([0.25, 1.0]).log()
    edges, stops = _explore(log_p, stop, torch.tensor([0, 0]), 0.2)
    assert edges.exp().tolist() == pytest.approx([0.4 + 1 / 15, 0.2 + 1 / 15])
    assert stops.exp().tolist() == pytest.approx([0.2 + 1 / 15, 1.0])
