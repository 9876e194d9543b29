"""Which columns of a batch's key/values each query may attend to.

Masks are additive, in the model's own number type: `sdpa` and `eager` attention both take this form. They are
built from text positions, not from columns, so that padding may be at any column.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

FULL = "full_attention"
SLIDING = "sliding_attention"


Windows = dict[str, int | None]
"""Kinds of attention in a model's layers: kind -> width in tokens, None for the whole text."""


def mask_windows(config: Any) -> Windows:
    """The kinds in a model's text configuration. Raises ValueError for an unknown kind."""
    kinds = set(getattr(config, "layer_types", None) or ())
    window = getattr(config, "sliding_window", None)
    if not kinds:
        slides = window is not None and getattr(config, "use_sliding_window", True)
        kinds = {SLIDING if slides else FULL}
    unknown = kinds - {FULL, SLIDING}
    if unknown:
        raise ValueError(f"layers of kind {', '.join(sorted(unknown))}")
    return {kind: window if kind == SLIDING else None for kind in sorted(kinds)}


def mask_for(
    windows: Windows, queries: Tensor, keys: Tensor, dtype: torch.dtype
) -> Tensor | dict[str, Tensor]:
    """Mask for queries at text positions `queries` (rows, q) over keys at `keys` (rows, k), negative where a
    column is padding: (rows, 1, q, k), or a mask for each kind where a model has several kinds of layers."""
    distance = queries[:, None, :, None] - keys[:, None, None, :]
    allowed = (distance >= 0) & (keys >= 0)[:, None, None, :]
    # A query that may attend to nothing yields NaN in half precision, and NaN spreads through weight 0.
    padding = (queries < 0)[:, None, :, None]
    masks = {
        kind: additive(padding | (allowed if window is None else allowed & (distance < window)), dtype)
        for kind, window in windows.items()
    }
    return masks if len(masks) > 1 else next(iter(masks.values()))


def additive(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """0 where allowed, else the type's lowest number."""
    mask = torch.zeros(allowed.shape, dtype=dtype, device=allowed.device)
    return mask.masked_fill_(~allowed, torch.finfo(dtype).min)
