"""The projector that the run's retriever has learned, for the sampler to share (spec GFlowNet 3.1, 7.2)."""

from __future__ import annotations

from pathlib import Path

import torch

from engine.errors import DataError, reading_errors
from engine.gflownet import layout
from engine.gflownet.sampler.projector import EmbeddingProjector
from engine.torch_file import load_torch
from engine.training_state import UNFIT, check_numbers


def trained_projector(run_dir: Path, width: int, projected: int) -> EmbeddingProjector:
    """That of the run's retriever, with the weights that were best on validation. Raises DataError where the run has
    none that fits."""
    path = layout.retriever_checkpoint(run_dir)
    hint = (
        "run the stage retriever of this version, without retriever.scores; or let the sampler learn a projection of "
        "its own: gflownet.embedder.use_retriever_projector: false"
    )
    projector, prefix = EmbeddingProjector(width, projected), "projector."
    if not path.is_file():
        raise DataError(
            what="no retriever was trained here whose projector could be used", where=str(path), hint=hint
        )
    state = load_torch(path, hint)
    with reading_errors(path, "the retriever's projector cannot be used", hint, *UNFIT):
        weights: dict[str, torch.Tensor] = state["best"]["weights"]
        part = {key.removeprefix(prefix): value for key, value in weights.items() if key.startswith(prefix)}
        projector.load_state_dict(part)
        check_numbers(projector)
    return projector
