"""A pointer network that picks two demonstrations, in order, from a query's candidates (Vinyals et al. 2015)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize


class Selector(nn.Module):
    """An encoder embeds query and candidates; the query attends to all candidates once (a glimpse, Bello et al. 2016),
    points to the first demonstration, adds it to its state, and points to the second.

    A candidate's logit is a learned similarity to the state plus its cosine with the query: an untrained selector
    nearly picks the most similar candidates.
    """

    def __init__(self, width: int, hidden: int = 64, inner: int = 256) -> None:
        """`width`: d of the embeddings; `hidden`: of the learned space; `inner`: of the encoder's layer."""
        super().__init__()
        self.width = width
        self.encoder = nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, hidden))
        self.glimpse = nn.MultiheadAttention(hidden, num_heads=4, batch_first=True)
        self.chosen = nn.Linear(hidden, hidden, bias=False)
        nn.init.zeros_(self.glimpse.out_proj.weight)
        nn.init.eye_(self.chosen.weight)
        self.log_scale = nn.Parameter(torch.tensor(math.log(5.0)))
        self.log_plain = nn.Parameter(torch.tensor(math.log(10.0)))

    def forward(self, query_emb: Tensor, cand_emb: Tensor) -> Tensor:
        """Log-probabilities [B, K, K] of first and second pick, -inf for equal picks, from [B, d] and [B, K, d]."""
        keys = normalize(self.encoder(cand_emb), dim=-1)
        query = normalize(self.encoder(query_emb), dim=-1)
        seen, _ = self.glimpse(query[:, None], keys, keys, need_weights=False)
        state = query + seen[:, 0]
        plain = self.log_plain.exp() * (
            normalize(cand_emb, dim=-1) * normalize(query_emb, dim=-1)[:, None]
        ).sum(-1)
        first = self._points(state[:, None], keys)[:, 0] + plain
        second = self._points(state[:, None] + self.chosen(keys), keys) + plain[:, None]
        same = torch.eye(keys.shape[1], dtype=torch.bool, device=keys.device)
        second = second.masked_fill(same, float("-inf"))
        return first.log_softmax(-1)[:, :, None] + second.log_softmax(-1)

    def _points(self, states: Tensor, keys: Tensor) -> Tensor:
        """Logits [B, S, K] of keys [B, K, h] under states [B, S, h]."""
        return self.log_scale.exp() * normalize(states, dim=-1) @ keys.transpose(1, 2)


def best_pairs(log_probabilities: Tensor) -> Tensor:
    """The likeliest ordered pairs [B, 2] of [B, K, K]; the first of equally likely ones."""
    size = log_probabilities.shape[-1]
    best = log_probabilities.flatten(1).argmax(dim=1)
    return torch.stack([best // size, best % size], dim=1)


def pairs_log_probability(log_probabilities: Tensor, pairs: Tensor) -> Tensor:
    """Log-probabilities [B, T] of pairs [B, T, 2], from [B, K, K]; -inf for a pair of equal places."""
    batch = torch.arange(len(pairs))[:, None]
    return log_probabilities[batch, pairs[..., 0], pairs[..., 1]]
