"""Memory that the system gets back as soon as it is dropped: a heap keeps what it once took."""

from __future__ import annotations

import ctypes
import math
import mmap
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

_PRIVATE: Any = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}


def mapped(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """A tensor without numbers yet."""
    memory = mmap.mmap(-1, math.prod(shape) * dtype.itemsize, **_PRIVATE)
    return torch.frombuffer(memory, dtype=dtype).view(*shape)


def free_unused() -> None:
    """Give back what the heap keeps for later, where the C library has a call for it (glibc)."""
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
