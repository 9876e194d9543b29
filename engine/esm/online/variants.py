"""ESM and its ablations as retrieval rules: everything after retrieval is the same code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.config.esm import OnlineSection
from engine.esm.evaluation.sources import VariantInputs
from engine.esm.library.memory import Entry, EpisodicMemory
from engine.esm.online.decide import Hit, Retrieval, retrieve
from engine.lm.protocol import Vector
from engine.seeds import generator

Retrieve = Callable[[int, NDArray[np.float32]], Retrieval]
"""(segment m, states (len(layers), hidden_size)) -> what memory offers."""


@dataclass(frozen=True)
class Variant:
    """A method of the online controller. Without `retrieve` it never steers; `layers` are the query's. `strength`: the
    first candidate is always injected, this strongly, whatever its Score. `online`: settings in place of the run's."""

    name: str
    retrieve: Retrieve | None
    layers: tuple[int, ...] = ()
    probing: bool = True
    strength: float | None = None
    online: OnlineSection | None = None


def retrieving(name: str, memory: EpisodicMemory, online: OnlineSection) -> Variant:
    """Esm over `memory`: the whole of it, or what `online.variant` makes of it."""
    if online.variant == "no_memory":
        return Variant(name, None)
    return Variant(
        name,
        lambda m, states: retrieve(memory, m, states, online),
        memory.layers,
        probing=online.variant != "no_probing",
    )


def esm(inputs: VariantInputs) -> Variant:
    """The method itself."""
    return retrieving(inputs.name, inputs.memory, inputs.config.online)


def no_memory(inputs: VariantInputs) -> Variant:
    """Segment by segment, and never steered."""
    return Variant(inputs.name, None)


def no_probing(inputs: VariantInputs) -> Variant:
    """The injectable hit of largest A-hat, where it beats null's."""
    return replace(esm(inputs), probing=False)


def random_vector(inputs: VariantInputs) -> Variant:
    """A seeded direction of each mined vector's norm in its place."""
    seed, entries = inputs.config.run.seed, inputs.memory.entries
    return _with_vectors(inputs, [_random_like(entry, seed) for entry in entries])


def no_right_entries(inputs: VariantInputs) -> Variant:
    """Nothing speaks for null."""
    return retrieving(inputs.name, inputs.memory.without_right(), inputs.config.online)


def mean_vector_gated(inputs: VariantInputs) -> Variant:
    """Memory, right entries and gates stay, only the direction of each vector is the mean: what this loses against esm
    is what *which* entry was retrieved is worth."""
    means = _layer_means(inputs.memory)
    return _with_vectors(inputs, [_along(means.get(e.layer), e.vector) for e in inputs.memory.entries])


def mean_vector(inputs: VariantInputs) -> Variant:
    """One global vector a layer, offered at every control point as if it matched perfectly, with the layer's mean
    quality: no memory, so nothing speaks for null, and it steers unless its probe falls behind null's by beta / rho
    times that quality (with `tau_null` 0)."""
    memory, hits = inputs.memory, list[Hit]()
    for layer, vector in _layer_means(memory).items():
        qualities = [e.quality for e in memory.entries if e.layer == layer and e.vector is not None]
        quality = float(np.mean(qualities))
        hits.append(Hit(Entry(f"layer {layer} mean", layer, 0, quality, vector, source="all"), 1.0, quality))
    offered = Retrieval(None if hits else "no_candidates", len(hits), hits)
    return replace(esm(inputs), retrieve=lambda m, states: offered)


def one_vector(name: str, layer: int, vector: Vector, strength: float) -> Variant:
    """Adds strength * vector to the output of `layer` wherever it may: no memory, no gate, no probe."""
    offered = Retrieval(None, 1, [Hit(Entry(name, layer, 0, 1.0, vector, source="all"), 1.0, 1.0)])
    return Variant(name, lambda m, states: offered, (layer,), probing=False, strength=strength)


def _with_vectors(inputs: VariantInputs, vectors: Sequence[Vector | None]) -> Variant:
    return retrieving(inputs.name, inputs.memory.with_vectors(vectors), inputs.config.online)


def _random_like(entry: Entry, seed: int) -> Vector | None:
    """A seeded direction of the mined vector's norm."""
    if entry.vector is None:
        return None
    draw = generator(seed, "random_vector", entry.tool_name).standard_normal(entry.vector.shape)
    return (draw * (np.linalg.norm(entry.vector) / np.linalg.norm(draw))).astype(np.float32)


def layer_means(placed: Iterable[tuple[int, Vector | None]]) -> dict[int, Vector]:
    """Layer, ascending -> mean of all its vectors (layers without any are left out)."""
    by_layer: dict[int, list[Vector]] = defaultdict(list)
    for layer, vector in placed:
        if vector is not None:
            by_layer[layer].append(vector)
    return {n: np.stack(by_layer[n]).mean(axis=0, dtype=np.float32) for n in sorted(by_layer)}


def _layer_means(memory: EpisodicMemory) -> dict[int, Vector]:
    return layer_means((entry.layer, entry.vector) for entry in memory.entries)


def _along(direction: Vector | None, mined: Vector | None) -> Vector | None:
    """`direction` with the norm of `mined`."""
    if mined is None or direction is None:
        return None
    return (direction * (np.linalg.norm(mined) / max(float(np.linalg.norm(direction)), 1e-12))).astype(
        np.float32
    )
