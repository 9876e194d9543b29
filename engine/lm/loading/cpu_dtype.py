"""Which number type a model runs in on a CPU, where the configuration leaves it open."""

from __future__ import annotations

from typing import Any

import torch
import transformers

LARGE = 100_000_000
"""Parameters from which speed counts more than exact arithmetic."""


def cpu_dtype(config: Any) -> tuple[torch.dtype, str]:
    """The number type for a model of this configuration, and why; no reason for a small one, which stays exact."""
    parameters = _parameters(config)
    if parameters < LARGE:
        return torch.float32, ""
    if not has_bfloat16():
        return torch.float32, "this processor has no bfloat16"
    return torch.bfloat16, "this processor multiplies bfloat16"


def has_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 matrices itself (AVX512-BF16 or AMX)."""
    checks = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(getattr(torch.cpu, check, lambda: False)() for check in checks)


def _parameters(config: Any) -> int:
    """Counted on a model without memory."""
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    return sum(parameter.numel() for parameter in model.parameters())
