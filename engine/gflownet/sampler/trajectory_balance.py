"""Trajectory balance (Malkin et al. 2022, spec GFlowNet 5)."""

from __future__ import annotations

import torch


def residual(
    log_z: torch.Tensor, log_pf: torch.Tensor, log_pb: torch.Tensor, log_reward: torch.Tensor
) -> torch.Tensor:
    """delta [J] = log Z + log P_F - log P_B - log R: zero on every trajectory of a perfect sampler."""
    return log_z + log_pf - log_pb - log_reward
