"""Where the sampler is trained."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from engine.errors import RunError


@contextmanager
def training_device(kind: str) -> Iterator[torch.device]:
    """The CPU, or the GPU with algorithms that give the same sum every time. Raises RunError where there is none."""
    if kind == "cpu":
        yield torch.device("cpu")
        return
    if not torch.cuda.is_available():
        raise RunError(what="there is no GPU", where="gflownet.device", hint="gflownet.device: cpu")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield torch.device("cuda")
    finally:
        torch.use_deterministic_algorithms(before)
