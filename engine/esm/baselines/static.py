"""One vector for all problems, as most tools steer: no memory, no gate, no probe. It is added with a set strength at
every control point at which ESM may steer."""

from __future__ import annotations

from pathlib import Path

from engine.config.config import Config
from engine.esm.baselines.prompt_pairs import (
    PromptPair,
    differences,
    mean_difference,
    principal_difference,
    read_pairs,
)
from engine.esm.evaluation.sources import VariantInputs
from engine.esm.layers import contrast_layer
from engine.esm.online.variants import Variant, one_vector
from engine.lm.protocol import ModelInfo, Vector
from engine.vectors.formats import read_vectors
from engine.vectors.layer_vectors import the_vector

_FROM_PAIRS = {"contrast_mean": mean_difference, "contrast_pca": principal_difference}


def read_vector(config: Config, info: ModelInfo, run_dir: Path) -> tuple[int, Vector]:
    """The vector of `eval.vector`, with its layer. Raises DataError where it cannot be read, or does not fit the
    model."""
    section = config.eval.vector
    path = Path(section.path or "").expanduser()
    return the_vector(read_vectors(path), path, section.layer, info.hidden_size, info.num_layers)


def read_contrast_pairs(config: Config, info: ModelInfo, run_dir: Path) -> tuple[PromptPair, ...]:
    """The pairs of `eval.contrast`. Raises DataError where they cannot be read, and for a layer that is not there."""
    contrast_layer(config, info)
    return tuple(read_pairs(Path(config.eval.contrast.path or "").expanduser()))


def imported_vector(inputs: VariantInputs) -> Variant:
    """A vector of another tool."""
    assert inputs.sources.vector is not None
    return one_vector(inputs.name, *inputs.sources.vector, inputs.config.eval.vector.scale)


def contrast_mean(inputs: VariantInputs) -> Variant:
    """The mean difference of pairs of prompts (CAA)."""
    return _from_pairs(inputs)


def contrast_pca(inputs: VariantInputs) -> Variant:
    """The first principal component of the differences."""
    return _from_pairs(inputs)


def _from_pairs(inputs: VariantInputs) -> Variant:
    config, layer = inputs.config, contrast_layer(inputs.config, inputs.model.info)
    vectors = differences(inputs.model, inputs.sources.pairs or (), layer, config.prompt.system)
    return one_vector(inputs.name, layer, _FROM_PAIRS[inputs.name](vectors), config.eval.contrast.scale)
