"""Load the language model that a configuration names."""

from __future__ import annotations

from pathlib import Path

from engine.config.models.model import ModelSection
from engine.errors import ModelError
from engine.lm.loading.smollm2 import is_smollm2, smollm2
from engine.lm.protocol import LanguageModel

_BUILT_IN = Path(__file__).resolve().parents[2] / "embedded"
"""Folder of the built-in models, one folder each."""
EMBEDDED = _BUILT_IN / "arithmetic"
"""The built-in model that is used where no path is given."""


def load_model(config: ModelSection) -> LanguageModel:
    """Load the model of a configuration. Raises ModelError."""
    path, name = model_path(config)
    if config.backend == "vllm":
        from engine.lm.vllm.engine_options import start

        return start(path, config)
    from engine.lm.transformers.model import (
        TransformersModel,  # takes seconds: imported where a model is loaded
    )

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
    """Folder of the built-in model `name`; None: the arithmetic model. Raises ModelError."""
    if name is None:
        return EMBEDDED
    known = sorted(file.parent.name for file in _BUILT_IN.glob("*/config.json"))
    if name not in known:
        raise ModelError(
            what=f"no built-in model is called {name!r}",
            where="model.path",
            hint=f"use one of: {', '.join(known)}; for your own model folder set model.backend to transformers",
        )
    return _BUILT_IN / name


def model_path(config: ModelSection) -> tuple[str, str]:
    """The model's folder, file or hub name, and the name to show for it. Raises ModelError."""
    if config.backend == "embedded":
        return str(embedded_folder(config.path)), "embedded" if config.path is None else config.path
    assert config.path, "as the section checks"
    path = smollm2(config.backend) if is_smollm2(config.path) else config.path
    return path, config.path
