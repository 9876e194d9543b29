"""Where a model runs and in which number type."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from engine.errors import ModelError
from engine.lm.loading.cpu_dtype import cpu_dtype, has_bfloat16

DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float64": torch.float64,  # no configuration offers it: for comparisons free of rounding
}


_LESS = "lower `model.max_num_seqs`, use a smaller `model.dtype` or model, or `model.device: cpu`"


@contextmanager
def memory_errors(where: str, hint: str = _LESS) -> Iterator[None]:
    """Turn a device that is out of memory into a ModelError."""
    try:
        yield
    except RuntimeError as error:  # some devices have no error of their own for it
        if not isinstance(error, torch.OutOfMemoryError) and "out of memory" not in str(error).lower():
            raise
        raise ModelError(what="the device's memory is full", where=where, hint=hint) from error


def pick_device(name: str, setting: str = "model.device") -> torch.device:
    """The device called `name`; `auto`: CUDA, else MPS, else the CPU. Raises ModelError for a device that this
    machine lacks; `setting` is the configuration field that names it."""
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        return torch.device(next(device for device, usable in available.items() if usable))
    if not available[name]:
        usable = " and ".join(device for device, is_usable in available.items() if is_usable)
        raise ModelError(
            what=f"no {name} device can be used on this machine",
            where=setting,
            hint=f"choose another (this machine has: {usable}), or install the driver and a torch build for it",
        )
    return torch.device(name)


def pick_dtype(name: str, device: torch.device, config: Any) -> tuple[torch.dtype, str]:
    """The number type called `name`, and why it was taken where that was open. `auto`: the type of the saved weights;
    on the CPU float32, or bfloat16 for a large model that it makes faster. `int8`: what stands beside 8-bit layers."""
    if name == "int8":
        return torch.bfloat16 if has_bfloat16() else torch.float32, ""
    if name in DTYPES:
        return DTYPES[name], ""
    if device.type == "cpu":
        return cpu_dtype(config)
    saved: Any = getattr(config, "dtype", None)
    return (saved, "the type of the saved weights") if saved in DTYPES.values() else (torch.float32, "")
