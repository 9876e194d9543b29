"""Whether mined vectors do more than chance on the very problems that they were mined from.

Verification keeps the pairs whose vector turned their own wrong answer right. Any change of a text turns some wrong
answers right and others wrong; so a layer's vectors are shown with both counts, and with McNemar's exact p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.statistics import mcnemar

PairRecord = dict[str, Any]
CHANCE = 0.05
"""p at which a layer's effect counts as more than chance."""


@dataclass(frozen=True)
class LayerEffect:
    """Of a layer's pairs: wrong answers that became right with the vector, and right ones that became wrong, both from
    a wrong rollout's prefix. `p`: McNemar's exact two-sided one."""

    layer: int
    pairs: int
    becomes_right: int
    becomes_wrong: int
    p: float

    @property
    def helps(self) -> bool:
        """Whether the vectors turn more answers right than wrong, beyond chance."""
        return self.becomes_right > self.becomes_wrong and self.p < CHANCE

    def __str__(self) -> str:
        return f"layer {self.layer}: {self.becomes_right} became right, {self.becomes_wrong} wrong (p = {self.p:.2g})"


def layer_effects(pairs: Sequence[PairRecord]) -> list[LayerEffect]:
    """The effect of each layer's vectors; empty where pairs were not verified."""
    verified = [pair for pair in pairs if "steered_correct" in pair]
    return [
        _effect(layer, [pair for pair in verified if pair["layer"] == layer])
        for layer in sorted({pair["layer"] for pair in verified})
    ]


def _effect(layer: int, layer_pairs: Sequence[PairRecord]) -> LayerEffect:
    steered = np.array([pair["steered_correct"] for pair in layer_pairs], dtype=bool)
    plain = np.array([pair["wrong_correct"] for pair in layer_pairs], dtype=bool)
    return LayerEffect(
        layer,
        len(layer_pairs),
        becomes_right=int((steered & ~plain).sum()),
        becomes_wrong=int((plain & ~steered).sum()),
        p=mcnemar(steered, plain),
    )


def nothing_to_inject(pairs: Sequence[PairRecord], candidates: Sequence[dict[str, Any]]) -> str | None:
    """A warning for the user if verification has left no entry with a vector: the run goes on unsteered."""
    if any(row["kind"] == "wrong" for row in candidates):
        return None
    return (
        f"of {len(pairs)} pairs none that is kept has a vector which turned its own wrong answer right: the memory has "
        "nothing to inject, and esm will answer as the model does alone. Mine other layers, change online.k_scale, "
        "take more examples, raise offline_mine.keep_top_C, or set offline_mine.verify to false"
    )


def no_better_than_chance(effects: Sequence[LayerEffect]) -> str | None:
    """A warning for the user if no layer's vectors help."""
    if not effects or any(effect.helps for effect in effects):
        return None
    seen = "; ".join(map(str, effects))
    return (
        f"with their vectors, wrong answers became right no more often than right ones wrong: {seen}. "
        "What this library steers is chance: mine other layers, another k_scale or more examples"
    )
