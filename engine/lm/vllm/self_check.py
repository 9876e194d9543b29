"""Check that this vLLM steers this model exactly: the states before and after steering must differ by the vector, and
an unsteered request afterwards must give the same states as before."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelError
from engine.lm.protocol import Steer
from engine.lm.vllm.model import VllmModel

TOLERANCE = {"float32": 1e-3, "bfloat16": 0.1, "float16": 0.02}
"""Allowed error, relative to the stream's length."""
_TRIES = 100


def check_steering(model: VllmModel) -> None:
    """Raises ModelError where a layer's stream does not move by the vector, or where key/values that were computed
    after a steered token are used for an unsteered request."""
    info = model.info
    block = model.engine.vllm_config.cache_config.block_size
    tokens = [index * 7 % info.vocab_size for index in range(1, 2 * block + 6)]
    layers = tuple(range(info.num_layers))
    last = len(tokens) - 1
    (clean,) = model.open([tokens]).states([0], layers)
    length = float(np.linalg.norm(clean[0])) or 1.0
    # In the first of two full blocks, so that the cache holds this block from the steered request only.
    _empty_cache(model)
    model.steered_state(tokens, _steer(info.hidden_size, 0, length), block // 2, layers)
    shared = model.open([tokens]).states([0], layers)[0]
    _compare(model, "an unsteered state after a steered one", shared, clean, length)
    for layer in {0, info.num_layers - 1}:
        moved = model.steered_state(tokens, _steer(info.hidden_size, layer, length), last, layers)
        moved[layer] -= length / np.sqrt(info.hidden_size)
        _compare(model, f"a vector added at layer {layer}", moved[: layer + 1], clean[: layer + 1], length)


def _empty_cache(model: VllmModel) -> None:
    """Empty the prefix cache. vLLM refuses while a block is in use, as for a moment after the last token."""
    for _ in range(_TRIES):
        if model.engine.reset_prefix_cache():
            return
        time.sleep(0.1)
    raise ModelError(
        what="the prefix cache cannot be emptied, so it cannot be checked whether it shares steered key/values",
        where=f"{model.info.name} in vLLM",
        hint="use vLLM 0.32, `enable_prefix_caching: false` in `model.vllm.engine_args`, or the backend transformers",
    )


def _steer(hidden_size: int, layer: int, length: float) -> Steer:
    """Steering by a vector of this length whose numbers are all equal."""
    return Steer(np.full(hidden_size, length / np.sqrt(hidden_size), dtype=np.float32), layer, 1.0)


def _compare(
    model: VllmModel, what: str, measured: NDArray[np.float32], expected: NDArray[np.float32], length: float
) -> None:
    off = float(np.linalg.norm(measured - expected, axis=1).max()) / length
    allowed = TOLERANCE.get(model.info.dtype, 0.1) * float(np.linalg.norm(expected, axis=1).max()) / length
    if not off <= allowed:
        raise ModelError(
            what=f"{what} is off by {off:.1%} of the stream's length",
            where=f"{model.info.name} in vLLM",
            hint="install steer-tui into vLLM's environment with pip (it brings a plugin), use vLLM 0.32, "
            "`enforce_eager: true` in `model.vllm.engine_args`, or the backend transformers",
        )
