"""Check that batched, cached decoding gives the logits of a plain pass. Some architectures number tokens by column
(ALiBi), or carry state beside key/values: on those decoding would run and be wrong without an error."""

from __future__ import annotations

import numpy as np
import torch

from engine.lm.transformers.network import Network

TOLERANCE = {torch.float64: 1e-3, torch.float32: 1e-3, torch.bfloat16: 0.1, torch.float16: 0.02}
"""Allowed difference in logits, relative to their largest."""


@torch.inference_mode()
def check_network(network: Network) -> None:
    """Raises ValueError where a padded batch with key/values differs from one plain pass."""
    long = [index * 7 % network.vocab_size for index in range(1, 10)]
    short = long[5:]
    plain = torch.cat([_plain(network, long), _plain(network, short)])
    ran = network.prefill([long[:3], short[:1]], [None, None])
    ran = network.prefill([long[3:-1], short[1:-1]], [row.kv for row in ran])
    kv = network.start([[row.kv] for row in ran], spare=1)
    cached = network.step(np.array([long[-1], short[-1]]), kv, network.decode_mask(kv))
    error = (cached - plain).abs().max().item() / max(plain.abs().max().item(), 1e-6)
    if not error <= TOLERANCE.get(network.dtype, 0.1):
        raise ValueError(f"decoding with key/values differs from a plain pass by {error:.1%} of the logits")


def _plain(network: Network, tokens: list[int]) -> torch.Tensor:
    ids = torch.tensor([tokens], device=network.device)
    return network.model(input_ids=ids, use_cache=False).logits[:, -1].float()
