"""ESM and its ablations as retrieval rules: everything after retrieval is the same code (DESIGN 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.config import OnlineSection
from engine.esm.decide import Hit, Retrieval, retrieve
from engine.esm.memory import Entry, EpisodicMemory
from engine.lm.protocol import Vector
from engine.seeds import generator

Retrieve = Callable[[int, NDArray[np.float32]], Retrieval]
"""(segment m, states (len(layers), hidden_size)) -> what memory offers."""


@dataclass(frozen=True)
class Variant:
    """A method of the online controller. Without `retrieve` it never steers; `layers` are the query's."""

    name: str
    retrieve: Retrieve | None
    layers: tuple[int, ...] = ()
    probing: bool = True


def make_variant(name: str, memory: EpisodicMemory, online: OnlineSection, seed: int) -> Variant:
    """`esm` or one of the ablations of `eval.ablations`."""
    if name == "no_memory":
        return Variant(name, None)
    if name == "mean_vector":
        return _mean_vector(memory)
    used = memory
    if name == "no_right_entries":
        used = memory.without_right()
    elif name == "random_vector":
        used = memory.with_vectors([_random_like(entry, seed) for entry in memory.entries])
    return Variant(
        name, lambda m, states: retrieve(used, m, states, online), used.layers, probing=name != "no_probing"
    )


def _random_like(entry: Entry, seed: int) -> Vector | None:
    """A seeded direction of the mined vector's norm."""
    if entry.vector is None:
        return None
    draw = generator(seed, "random_vector", entry.tool_name).standard_normal(entry.vector.shape)
    return (draw * (np.linalg.norm(entry.vector) / np.linalg.norm(draw))).astype(np.float32)


def _mean_vector(memory: EpisodicMemory) -> Variant:
    """One global vector a layer, offered at every control point as if it matched perfectly."""
    hits: list[Hit] = []
    for layer in memory.layers:
        own = [(e.vector, e.quality) for e in memory.entries if e.layer == layer and e.vector is not None]
        if own:
            vector = np.stack([vector for vector, _ in own]).mean(axis=0, dtype=np.float32)
            quality = float(np.mean([quality for _, quality in own]))
            entry = Entry(f"mean_l{layer}", layer, 0, quality, vector, source="all")
            hits.append(Hit(entry, 1.0, quality))
    retrieval = Retrieval(None if hits else "no_candidates", len(hits), hits)
    return Variant("mean_vector", lambda m, states: retrieval, memory.layers)
