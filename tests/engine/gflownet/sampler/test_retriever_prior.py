"""The policy that has the retriever's scores alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from engine.gflownet.sampler.policies.retriever_prior import RetrieverPriorPolicy


def test_to_stop_weighs_as_an_edge_of_that_score() -> None:
    """An edge's score is added as the prior's logarithm: here it adds nothing."""
    frontier: Any = SimpleNamespace(edge=torch.tensor([4, 7, 9]))
    edges, stop = RetrieverPriorPolicy(0.25).logits(torch.zeros(10), torch.zeros(2), frontier, step=1)
    assert edges.tolist() == [0, 0, 0]
    assert stop.exp().tolist() == pytest.approx([0.25, 0.25])
