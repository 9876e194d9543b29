"""Random numbers that are a function of what they are for, so that batching cannot change a draw.

A counter-based generator: splitmix64's finaliser over (seed, step, edge), in wrapping int64 arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from engine.seeds import derive_seed


def rollout_seeds(
    run_seed: int, purpose: str, names: Sequence[str], each: int, first: int = 0
) -> torch.Tensor:
    """Seeds [len(names) * each] of trajectories first .. first + each - 1 of each question."""
    return torch.tensor(
        [
            derive_seed(run_seed, "gflownet", f"{purpose} {name}", first + k)
            for name in names
            for k in range(each)
        ]
    )


def uniform(seeds: torch.Tensor, step: int, items: torch.Tensor) -> torch.Tensor:
    """float64 in (0, 1), of the shape of `seeds` and `items` (int64): one draw each."""
    return (_shift(branched(seeds, step, items), 11).double() + 0.5) * 2.0**-53


def branched(seeds: torch.Tensor, step: int, items: torch.Tensor) -> torch.Tensor:
    """New seeds (int64) of the same shape: one for each item that `seeds` lead to at `step`."""
    mixed = _mix(seeds + _wrap(0x9E3779B97F4A7C15 * (step + 1)))
    return _mix(mixed ^ (items + 1) * _wrap(0xD1B54A32D192ED03))


def gumbel(seeds: torch.Tensor, step: int, items: torch.Tensor) -> torch.Tensor:
    """Standard Gumbel draws: the largest of logit + Gumbel is a draw from the softmax."""
    return -torch.log(-torch.log(uniform(seeds, step, items)))


def _mix(value: torch.Tensor) -> torch.Tensor:
    value = (value ^ _shift(value, 30)) * _wrap(0xBF58476D1CE4E5B9)
    value = (value ^ _shift(value, 27)) * _wrap(0x94D049BB133111EB)
    return value ^ _shift(value, 31)


def _shift(value: torch.Tensor, bits: int) -> torch.Tensor:
    return (value >> bits) & ((1 << (64 - bits)) - 1)


def _wrap(constant: int) -> int:
    constant &= (1 << 64) - 1
    return constant - (1 << 64) if constant >> 63 else constant
