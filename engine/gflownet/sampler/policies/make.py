"""The policy that a configuration names."""

from __future__ import annotations

from engine.config.gflownet import PolicySection
from engine.gflownet.sampler.policies.edge_frontier import EdgeFrontierPolicy
from engine.gflownet.sampler.policies.edge_gat import EdgeGATPolicy
from engine.gflownet.sampler.policies.edge_mlp_mixer import EdgeMLPMixerPolicy
from engine.gflownet.sampler.policies.policy import RecurrentPolicy


def make_policy(section: PolicySection, max_steps: int) -> RecurrentPolicy:
    """With new weights, from torch's generator."""
    if section.kind == "edge_gat":
        return EdgeGATPolicy(section.hidden, max_steps, section.heads)
    kind = EdgeMLPMixerPolicy if section.kind == "edge_mlp_mixer" else EdgeFrontierPolicy
    return kind(section.hidden, max_steps)
