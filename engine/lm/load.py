"""A configuration's language model."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from engine.errors import ModelError
from engine.lm.protocol import LanguageModel

EMBEDDED = Path(__file__).parent / "embedded"
"""Folder of the model that comes along."""
BACKENDS = ("embedded", "transformers")


class ModelConfig(Protocol):
    """What is read of the `model` section."""

    @property
    def backend(self) -> str: ...
    @property
    def path(self) -> str | None: ...
    @property
    def device(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def max_num_seqs(self) -> int: ...
    @property
    def threads(self) -> int: ...


def load_model(config: ModelConfig) -> LanguageModel:
    """Load the model of a configuration. Raises ModelError."""
    if config.backend not in BACKENDS:
        raise ModelError(
            what=f"no backend {config.backend!r}",
            where="model.backend",
            mend=f"use one of: {', '.join(BACKENDS)}",
        )
    path, name = model_path(config)
    from engine.lm.transformers import TransformersModel  # seconds: only who loads a model waits for it

    return TransformersModel.load(
        path,
        device=config.device,
        dtype=config.dtype,
        max_num_seqs=config.max_num_seqs,
        threads=config.threads,
        name=name,
        backend=config.backend,
    )


def model_path(config: ModelConfig) -> tuple[str, str]:
    """Where the model lies and what it is called. Raises ModelError."""
    if config.backend == "embedded":
        return str(EMBEDDED), "embedded"
    if not config.path:
        raise ModelError(
            what="no model is named", where="model.path", mend="give a model folder or a hub name"
        )
    return config.path, config.path
