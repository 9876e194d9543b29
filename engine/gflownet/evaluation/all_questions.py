"""Figures over all held-out questions, as the benchmarks of the field report them."""

from __future__ import annotations

from collections.abc import Mapping

COUNTED = {"hits@": "hits_all@", "success@": "success_all@", "gold_recall_union@": "gold_recall_all@"}
"""Figures that a question without an agent graph has, too: 0."""


def over_all(figures: Mapping[str, list[float]], missed: int) -> dict[str, list[float]]:
    """The counted figures, one number per question, with a 0 for each of the `missed` questions, none of whose answers
    a path reaches."""
    return {
        name.replace(counted, over, 1): [*values, *[0.0] * missed]
        for name, values in figures.items()
        for counted, over in COUNTED.items()
        if name.startswith(counted)
    }
