"""One vector for all problems, as most tools steer: no memory, no gate, no probe. It is added with a set strength at
every control point at which ESM may steer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.config.config import Config
from engine.errors import DataError
from engine.esm.decide import Hit, Retrieval
from engine.esm.field import NO_FIELD, FieldSources, field_methods
from engine.esm.memory import Entry, EpisodicMemory
from engine.esm.prompt_pairs import PromptPair, differences, mean_difference, principal_difference, read_pairs
from engine.esm.variants import Variant, make_variant
from engine.lm.protocol import LanguageModel, ModelInfo, Vector
from engine.vectors.formats import read_vectors
from engine.vectors.layer_vectors import the_vector

IMPORTED = "imported_vector"
_FROM_PAIRS = {"contrast_mean": mean_difference, "contrast_pca": principal_difference}


def static_methods(config: Config) -> list[str]:
    """Those that the configuration gives a file for."""
    vector, contrast = config.eval.vector, config.eval.contrast
    return [*([IMPORTED] if vector.path else []), *(dict.fromkeys(contrast.arms) if contrast.path else [])]


@dataclass(frozen=True)
class StaticSources:
    """What the static methods are made from: the imported vector with its layer, and the pairs. `field`: what the
    baselines of the field are made from."""

    imported: tuple[int, Vector] | None = None
    pairs: tuple[PromptPair, ...] = ()
    field: FieldSources = NO_FIELD

    @classmethod
    def read(cls, config: Config, info: ModelInfo, run_dir: Path) -> StaticSources:
        """Raises DataError for files that cannot be read, or do not fit the model."""
        vector, contrast = config.eval.vector, config.eval.contrast
        imported = None
        if vector.path:
            path = Path(vector.path).expanduser()
            imported = the_vector(read_vectors(path), path, vector.layer, info.hidden_size, info.num_layers)
        pairs = read_pairs(Path(contrast.path).expanduser()) if contrast.path else []
        if pairs:
            contrast_layer(config, info)
        return cls(imported, tuple(pairs), FieldSources.read(config, run_dir, info))

    def variant(self, name: str, model: LanguageModel, config: Config) -> Variant:
        """The method called `name`; the pairs are read with the model."""
        if name == IMPORTED:
            assert self.imported is not None
            layer, vector = self.imported
            return static_variant(name, layer, vector, config.eval.vector.scale)
        return static_variant(
            name, *contrast_vector(name, model, config, self.pairs), config.eval.contrast.scale
        )


NO_SOURCES = StaticSources()


def method_variant(
    name: str, model: LanguageModel, config: Config, memory: EpisodicMemory, sources: StaticSources
) -> Variant:
    """A static method, a baseline of the field, esm, or one of its ablations."""
    if name in field_methods(config):
        return sources.field.variant(name, model, config, memory)
    if name in static_methods(config):
        return sources.variant(name, model, config)
    return make_variant(name, memory, config.online, config.run.seed)


def static_variant(name: str, layer: int, vector: Vector, strength: float) -> Variant:
    """Adds strength * vector to the output of `layer` wherever it may."""
    hit = Hit(Entry(name, layer, 0, 1.0, vector, source="all"), 1.0, 1.0)
    offered = Retrieval(None, 1, [hit])
    return Variant(name, lambda m, states: offered, (layer,), probing=False, strength=strength)


def contrast_vector(
    name: str, model: LanguageModel, config: Config, pairs: Sequence[PromptPair]
) -> tuple[int, Vector]:
    """The vector of `contrast_mean` or `contrast_pca`, with its layer."""
    layer = contrast_layer(config, model.info)
    return layer, _FROM_PAIRS[name](differences(model, pairs, layer, config.prompt.system))


def contrast_layer(config: Config, info: ModelInfo) -> int:
    """`eval.contrast.layer`, or the middle one. Raises DataError if the model lacks it."""
    layer = config.eval.contrast.layer
    if layer is None:
        return info.num_layers // 2
    if layer >= info.num_layers:
        raise DataError(
            what=f"layer {layer} does not exist: the model has layers 0 to {info.num_layers - 1}",
            where="eval.contrast.layer",
            mend="choose among those",
        )
    return layer
