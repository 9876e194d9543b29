"""Which number type a model runs in on a CPU, where the configuration leaves it open."""

from __future__ import annotations

import time
from typing import Any

import torch
import transformers

LARGE = 100_000_000
"""Parameters from which speed counts more than exact arithmetic."""
FASTER = 1.25
"""How many times as fast bfloat16 must be: processors that have it reach 2 and more, so that load from other programs
does not decide."""
_ROWS, _TRIES = 32, 5


def cpu_dtype(config: Any) -> tuple[torch.dtype, str]:
    """The number type for a model of this configuration, and why; no reason for a small one, which stays exact."""
    parameters = _parameters(config)
    if parameters < LARGE:
        return torch.float32, ""
    if not has_bfloat16():
        return torch.float32, "this processor has no bfloat16"
    gain = bfloat16_gain(config)
    if gain < FASTER:
        return torch.float32, f"bfloat16 is only {gain:.1f} times as fast here"
    return torch.bfloat16, f"{gain:.1f} times as fast as float32 here"


def has_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 matrices itself (AVX512-BF16 or AMX)."""
    checks = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(getattr(torch.cpu, check, lambda: False)() for check in checks)


@torch.inference_mode()
def bfloat16_gain(config: Any) -> float:
    """How many times as fast as in float32 a product of the model's feed-forward shape is, the best of some tries, on
    one thread: on busy cores waiting for a second one says nothing of the processor."""
    text = config.get_text_config()
    width = int(text.hidden_size)
    inner = getattr(text, "intermediate_size", None) or 4 * width
    inputs, weights = torch.ones(_ROWS, width), torch.ones(int(inner), width)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _seconds(inputs, weights) / _seconds(inputs.bfloat16(), weights.bfloat16())
    finally:
        torch.set_num_threads(threads)


def _seconds(inputs: torch.Tensor, weights: torch.Tensor) -> float:
    times = []
    for _ in range(_TRIES + 1):  # the first one also sets the kernel up
        started = time.perf_counter()
        torch.nn.functional.linear(inputs, weights)
        times.append(time.perf_counter() - started)
    return max(min(times[1:]), 1e-9)


def _parameters(config: Any) -> int:
    """Counted on a model without memory."""
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    return sum(parameter.numel() for parameter in model.parameters())
