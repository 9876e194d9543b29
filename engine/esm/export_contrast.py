"""The vectors of `eval.contrast` as files: made again from the run's pairs, with the run's model."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from engine.config.config import Config
from engine.errors import DataError
from engine.esm.baselines.prompt_pairs import read_pairs
from engine.esm.baselines.static import contrast_vector
from engine.esm.export import Exported, check_scale
from engine.files import write_atomic
from engine.lm.loading.load import load_model
from engine.run.directory import RunDirectory
from engine.vectors.formats import vector_file
from engine.vectors.layer_vectors import LayerVectors

Arm = Literal["contrast_mean", "contrast_pca"]


def export_contrast(run: RunDirectory, form: str, out: Path, arm: Arm, scale: float = 1.0) -> Exported:
    """Write the vector to `out`. Raises DataError for a run without pairs, ModelError, DiskError."""
    config = Config.model_validate(run.read().config)
    path = config.eval.contrast.path
    if path is None:
        raise DataError(
            what="this run has no pairs of prompts",
            where="eval.contrast.path",
            hint="name a run that has some",
        )
    check_scale(scale)
    pairs = read_pairs(Path(path).expanduser())
    layer, vector = contrast_vector(arm, load_model(config.model), config, pairs)
    notes = {"method": arm, "pairs": str(len(pairs))}
    model = str(config.model.path or config.model.backend)
    write_atomic(out, vector_file(form, LayerVectors({layer: vector}, notes=notes), model, scale))
    return Exported([out], len(pairs), [layer], config.eval.contrast.scale)
