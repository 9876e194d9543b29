"""A configuration's language model."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from engine.config.model import VllmSection
from engine.errors import ModelError
from engine.lm.protocol import LanguageModel

_EMBEDDED = Path(__file__).resolve().parents[1] / "embedded"
"""Folder of the models that come along, one folder each."""
EMBEDDED = _EMBEDDED / "arithmetic"
"""The one that is meant where none is named."""
BACKENDS = ("embedded", "transformers", "vllm")


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
    @property
    def vllm(self) -> VllmSection: ...


def load_model(config: ModelConfig) -> LanguageModel:
    """Load the model of a configuration. Raises ModelError."""
    if config.backend not in BACKENDS:
        raise ModelError(
            what=f"no backend {config.backend!r}",
            where="model.backend",
            mend=f"use one of: {', '.join(BACKENDS)}",
        )
    path, name = model_path(config)
    if config.backend == "vllm":
        from engine.lm.vllm.engine_options import start

        return start(
            path,
            device=config.device,
            dtype=config.dtype,
            max_num_seqs=config.max_num_seqs,
            threads=config.threads,
            options=config.vllm,
        )
    from engine.lm.transformers.model import TransformersModel  # seconds: only who loads a model waits for it

    return TransformersModel.load(
        path,
        device=config.device,
        dtype=config.dtype,
        max_num_seqs=config.max_num_seqs,
        threads=config.threads,
        name=name,
        backend=config.backend,
    )


def embedded_folder(name: str | None) -> Path:
    """Folder of a model that comes along; None: the one for arithmetic. Raises ModelError."""
    if name is None:
        return EMBEDDED
    known = sorted(path.name for path in _EMBEDDED.iterdir() if path.is_dir())
    if name not in known:
        raise ModelError(
            what=f"no model called {name!r} comes along",
            where="model.path",
            mend=f"use one of: {', '.join(known)}; for a folder of your own set model.backend to transformers",
        )
    return _EMBEDDED / name


def model_path(config: ModelConfig) -> tuple[str, str]:
    """Where the model lies and what it is called. Raises ModelError."""
    if config.backend == "embedded":
        return str(embedded_folder(config.path)), "embedded" if config.path is None else config.path
    if not config.path:
        raise ModelError(
            what="no model is named", where="model.path", mend="give a model folder or a hub name"
        )
    return config.path, config.path
