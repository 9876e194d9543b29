"""ESM and its ablations as retrieval rules: everything after retrieval is the same code (DESIGN 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.config.esm import OnlineSection
from engine.esm.decide import Hit, Retrieval, retrieve
from engine.esm.memory import Entry, EpisodicMemory
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


def make_variant(name: str, memory: EpisodicMemory, online: OnlineSection, seed: int) -> Variant:
    """`esm` or one of the ablations of `eval.ablations`.

    Two controls with one global vector: `mean_vector` has no memory at all, so nothing speaks for null and it
    steers wherever it may; `mean_vector_gated` keeps memory, right entries and gates, and replaces only the
    direction of each vector: what it loses against esm is what *which* entry was retrieved is worth.
    """
    if name == "no_memory":
        return Variant(name, None)
    if name == "mean_vector":
        return _mean_vector(memory)
    used = memory
    if name == "no_right_entries":
        used = memory.without_right()
    elif name == "random_vector":
        used = memory.with_vectors([_random_like(entry, seed) for entry in memory.entries])
    elif name == "mean_vector_gated":
        means = _layer_means(memory)
        used = memory.with_vectors([_along(means.get(entry.layer), entry.vector) for entry in memory.entries])
    return Variant(
        name, lambda m, states: retrieve(used, m, states, online), used.layers, probing=name != "no_probing"
    )


def _random_like(entry: Entry, seed: int) -> Vector | None:
    """A seeded direction of the mined vector's norm."""
    if entry.vector is None:
        return None
    draw = generator(seed, "random_vector", entry.tool_name).standard_normal(entry.vector.shape)
    return (draw * (np.linalg.norm(entry.vector) / np.linalg.norm(draw))).astype(np.float32)


def _layer_means(memory: EpisodicMemory) -> dict[int, Vector]:
    """Layer -> mean of all its mined vectors (layers without any are left out)."""
    own = {layer: [e.vector for e in memory.entries if e.layer == layer] for layer in memory.layers}
    mined = {layer: [vector for vector in vectors if vector is not None] for layer, vectors in own.items()}
    return {
        layer: np.stack(vectors).mean(axis=0, dtype=np.float32) for layer, vectors in mined.items() if vectors
    }


def _along(direction: Vector | None, mined: Vector | None) -> Vector | None:
    """`direction` with the norm of `mined`."""
    if mined is None or direction is None:
        return None
    return (direction * (np.linalg.norm(mined) / max(float(np.linalg.norm(direction)), 1e-12))).astype(
        np.float32
    )


def _mean_vector(memory: EpisodicMemory) -> Variant:
    """One global vector a layer, offered at every control point as if it matched perfectly: no memory."""
    hits: list[Hit] = []
    for layer, vector in _layer_means(memory).items():
        qualities = [e.quality for e in memory.entries if e.layer == layer and e.vector is not None]
        quality = float(np.mean(qualities))
        hits.append(Hit(Entry(f"mean_l{layer}", layer, 0, quality, vector, source="all"), 1.0, quality))
    retrieval = Retrieval(None if hits else "no_candidates", len(hits), hits)
    return Variant("mean_vector", lambda m, states: retrieval, memory.layers)
