"""Attention of one query token a row without copying key/values for grouped queries.

Before attention the library repeats each key/value head for its query heads, which copies the whole cache for
every token. Here the query heads of a group are several queries of one head instead: the same sums.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "grouped_sdpa"


def grouped_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Attention of query (rows, heads, q, width) over key and value (rows, key heads, k, width): (rows, q, heads,
    width)."""
    rows, heads, length, width = query.shape
    groups = key.shape[1]
    shared = attention_mask is None or attention_mask.shape[1] == 1
    if length != 1 or heads == groups or not shared or kwargs.get("position_bias") is not None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **kwargs)
    output = torch.nn.functional.scaled_dot_product_attention(
        query.reshape(rows, groups, heads // groups, width),
        key,
        value,
        attn_mask=attention_mask,
        scale=scaling,
    )
    return output.reshape(rows, 1, heads, value.shape[-1]), None


def use_grouped_attention(model: Any) -> None:
    """Let a model that runs on `sdpa` use `grouped_attention`. A model with attention code of its own (Falcon) asks for
    `sdpa` by its name, and would take a slower or wrong path under any other."""
    config = model.config.get_text_config()
    by_name = getattr(model, "_supports_attention_backend", False)
    if by_name and getattr(config, "_attn_implementation", None) == "sdpa":
        AttentionInterface.register(NAME, grouped_attention)
        AttentionMaskInterface.register(NAME, sdpa_mask)
        config._attn_implementation = NAME
