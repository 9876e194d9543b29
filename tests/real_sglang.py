"""The real SGLang, on a CPU: `make test-sglang` installs it and names its Python in $SGLANG_PYTHON."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from engine.config.models.sglang import ServerSection
from tests.engine.lm.sglang.test_server import free_port

PYTHON = os.environ.get("SGLANG_PYTHON", "")
STUBS = Path(__file__).parent / "sglang_stubs"
ENVIRONMENT = {"SGLANG_USE_CPU_ENGINE": "1", "PYTHONPATH": str(STUBS)}

needs_sglang = pytest.mark.skipif(not PYTHON, reason="`make test-sglang` runs this")

COMMAND = shlex.join(["env", *(f"{name}={value}" for name, value in ENVIRONMENT.items()), PYTHON]) + (
    " -m sglang.launch_server --model-path {model} --host {host} --port {port} --enable-custom-logit-processor"
    # Left to itself it halves the weights' precision, and takes most of the memory for its cache.
    " --device cpu --attention-backend torch_native --dtype float32 --max-total-tokens 16384"
)


def real_section(**changes: object) -> ServerSection:
    """As a run's configuration would say it."""
    settings: dict[str, object] = {
        "kind": "sglang", "command": COMMAND, "port": free_port(), "concurrency": 8,
    }  # fmt: skip
    return ServerSection.model_validate(settings | changes)
