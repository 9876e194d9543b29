"""A run's sampler, with the weights that its paths were drawn with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.config.config import Config
from engine.errors import reading_errors
from engine.gflownet import layout
from engine.gflownet.graphs.tables import EmbeddingTables
from engine.gflownet.sampler.module import GFlowNetModule
from engine.gflownet.sampler.projector import EmbeddingProjector
from engine.torch_file import load_torch
from engine.training_state import UNFIT, check_numbers

_HINT = (
    "sample with the configuration it was trained with; if that is the run's own, an older program trained it or the "
    "file is damaged: start a new run"
)


def trained_sampler(run_dir: Path, config: Config) -> tuple[GFlowNetModule, int]:
    """The sampler, and the step behind which it had its weights. Raises DataError where nothing fits the
    configuration."""
    path = layout.checkpoint(run_dir)
    state = load_torch(path, hint="run the stage gflownet first")
    width = EmbeddingTables.load(run_dir).width
    with reading_errors(path, "the checkpoint does not fit the run's configuration", _HINT, *UNFIT):
        module = GFlowNetModule(width, config.gflownet, _projector(state, config, width))
        weights, step = _kept(state, config)
        module.load_state_dict(weights)
        check_numbers(module)
        return module, int(step)


def _projector(state: dict[str, Any], config: Config, width: int) -> EmbeddingProjector | None:
    """Of the right shape. Samplers of older versions, whose settings name no embedder, share none."""
    shared = config.gflownet.embedder.use_retriever_projector and "embedder" in state["shape"]
    return EmbeddingProjector(width, config.retriever.hidden) if shared else None


def _kept(state: dict[str, Any], config: Config) -> tuple[Any, Any]:
    """Weights and step: the best ones where they are restored and there are some, else the last ones."""
    best = state.get("best")
    if config.gflownet.early_stopping.restore_best and best and best["weights"]:
        return best["weights"], best["at"]
    return state["module"], state["step"]
