"""Softmax and argmax over groups of different sizes that lie flat in one tensor (native scatter, no loops)."""

from __future__ import annotations

import torch


def expand(pointers: torch.Tensor, groups: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Positions `pointers[g]:pointers[g + 1]` of each of `groups` [G], one behind the other.

    Returns (owner, position), both [sum of lengths]: `owner` counts 0..G-1.
    """
    first = pointers[groups]
    counts = pointers[groups + 1] - first
    owner = torch.repeat_interleave(counts)
    before = counts.cumsum(0) - counts
    return owner, torch.arange(owner.shape[0], device=owner.device) + (first - before)[owner]


def log_softmax_with_stop(
    logits: torch.Tensor, owner: torch.Tensor, stop: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-softmax of every owner's `logits` [F] together with its `stop` logit [L]; same shapes back."""
    peak = stop.detach().scatter_reduce(0, owner, logits.detach(), "amax", include_self=True)
    total = (stop - peak).exp().index_add(0, owner, (logits - peak[owner]).exp())
    normaliser = peak + total.log()
    return logits - normaliser[owner], stop - normaliser


def log_softmax(logits: torch.Tensor, owner: torch.Tensor, owners: int) -> torch.Tensor:
    """Log-softmax of `logits` [F] over each owner's entries; every owner has at least one."""
    # Not PyG's: it has a softmax alone, and by its `scatter` this takes 1.2x the time, forward and backward.
    peak = logits.detach().new_full((owners,), -torch.inf)
    peak = peak.scatter_reduce(0, owner, logits.detach(), "amax", include_self=True)
    total = logits.new_zeros(owners).index_add(0, owner, (logits - peak[owner]).exp())
    return logits - (peak + total.log())[owner]


def argmax_with_stop(values: torch.Tensor, owner: torch.Tensor, stop: torch.Tensor) -> torch.Tensor:
    """Position in `values` [F] of each owner's largest, or -1 where its `stop` [L] is larger. Ties: stop, then
    the first."""
    best = stop.scatter_reduce(0, owner, values, "amax", include_self=True)
    positions = torch.arange(values.shape[0], device=values.device)
    never = values.shape[0]
    candidate = torch.where(values == best[owner], positions, never)
    chosen = positions.new_full(stop.shape, never).scatter_reduce(0, owner, candidate, "amin")
    return torch.where((stop >= best) | (chosen == never), -1, chosen)


def best_of_each(group: torch.Tensor, worth: torch.Tensor, groups: int, width: int) -> torch.Tensor:
    """Rows of each group's `width` largest, by group and falling `worth` [J]; ties keep their order."""
    order = torch.argsort(worth, descending=True, stable=True)
    order = order[torch.argsort(group[order], stable=True)]
    counts = torch.bincount(group, minlength=groups)
    first = (counts.cumsum(0) - counts)[group[order]]
    place = torch.arange(order.shape[0], device=order.device) - first
    return order[place < width]
