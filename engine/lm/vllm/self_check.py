"""Does this vLLM steer this model exactly? Read a state, steer, read again: the difference must be the vector,
and what was computed before must still be what an unsteered request gets."""

from __future__ import annotations

import numpy as np

from engine.errors import ModelError
from engine.lm.protocol import Request, Sampling, Steer
from engine.lm.vllm.model import VllmModel

TOLERANCE = {"float32": 1e-3, "bfloat16": 0.1, "float16": 0.02}
"""Allowed error, relative to the vector's length."""


def check_steering(model: VllmModel) -> None:
    """Raises ModelError where a layer's stream does not move by the vector or an unsteered one moves at all."""
    info = model.info
    tokens = [index * 7 % info.vocab_size for index in range(1, 70)]
    layers = tuple(range(info.num_layers))
    for layer in {0, info.num_layers - 1}:
        (before,) = model.states([tokens], [[-1]], layers)
        length = float(np.linalg.norm(before[0, layer])) or 1.0
        vector = np.full(info.hidden_size, length / np.sqrt(info.hidden_size), dtype=np.float32)
        moved = model.steered_states([tokens], [Steer(vector, layer, 1.0)], layers)[0]
        (after,) = model.states([tokens], [[-1]], layers)
        model.generate([Request(tokens, Sampling(2), steer=Steer(vector, layer, 1.0))])
        allowed = TOLERANCE.get(info.dtype, 0.1) * length
        moved_by = float(np.linalg.norm(moved[layer] - before[0, layer] - vector))
        earlier = float(np.abs(moved[:layer] - before[0, :layer]).max(initial=0.0))
        unsteered = float(np.abs(after - before).max())
        if max(moved_by, earlier, unsteered) > allowed:
            raise ModelError(
                what=f"steering at layer {layer} is off by {moved_by / length:.1%} of the vector, "
                f"earlier layers by {earlier / length:.1%}, unsteered states by {unsteered / length:.1%}",
                where=info.name,
                mend="use vLLM 0.32, `model.vllm.enforce_eager: true`, or the backend transformers",
            )
