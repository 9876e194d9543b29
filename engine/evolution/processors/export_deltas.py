"""The evolved deltas in the forms of servers: OpenAI's `logit_bias`, and a file for vLLM.

The deltas depend on nothing but the token: neither on its place nor on what was written. So nothing is lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from engine.errors import DataError
from engine.evolution import layout
from engine.evolution.clusters.cluster_map import NO_CLUSTER, ClusterMap, load_cluster_map
from engine.evolution.deltas import Deltas, read_deltas
from engine.evolution.processor import processor_source
from engine.evolution.processors.vllm_class import VLLM_CLASS
from engine.files import required, write_atomic
from engine.run.directory import RunDirectory

Form = Literal["logit-bias", "vllm"]
MOST_BIASES = 300
"""What OpenAI's servers take."""


@dataclass(frozen=True)
class Bias:
    """`values`: token -> bias. `shift`: what was taken from all of them, which changes no probability."""

    values: dict[int, float]
    shift: float


def logit_bias(clusters: ClusterMap, deltas: Mapping[str, float]) -> Bias:
    """What most tokens get is taken from all: a softmax does not see it, and these tokens need none. Rows without a
    token get none: they cannot be written."""
    common = _most_common([deltas[name] for name in clusters.names], clusters.sizes())
    table = np.zeros(NO_CLUSTER + 1)
    table[: clusters.count] = [deltas[name] - common for name in clusters.names]
    row = table[clusters.ids]
    return Bias({token: round(float(row[token]), 6) for token in np.flatnonzero(row).tolist()}, common)


def _most_common(deltas: list[float], sizes: list[int]) -> float:
    """The delta that most tokens get."""
    tokens: dict[float, int] = {}
    for delta, size in zip(deltas, sizes, strict=True):
        tokens[delta] = tokens.get(delta, 0) + size
    return max(tokens, key=lambda delta: (tokens[delta], delta == 0))


@dataclass(frozen=True)
class ExportedDeltas:
    """What was written. `bias`: of form `logit-bias`."""

    path: Path
    deltas: Deltas
    bias: Bias | None = None


def export_deltas(run: RunDirectory, form: Form, out: Path, most: int = MOST_BIASES) -> ExportedDeltas:
    """Write the run's best deltas to `out`. Raises DataError, also where they need more than `most` biases (0: any
    number)."""
    clusters = load_cluster_map(layout.folder(run.path))
    best = required(layout.deltas_best(run.path), "evolve")
    deltas = read_deltas(best, clusters.names)
    if form == "vllm":
        write_atomic(out, processor_source(clusters, deltas) + VLLM_CLASS)
        return ExportedDeltas(out, deltas)
    bias = logit_bias(clusters, deltas)
    if 0 < most < len(bias.values):
        raise DataError(
            what=f"{len(bias.values)} tokens need a bias",
            where=f"--format logit-bias, at most {most} entries",
            hint="say --limit 0 for a server that takes any number, or --format vllm",
        )
    values = {str(token): value for token, value in bias.values.items()}
    write_atomic(out, json.dumps({"logit_bias": values}, indent=1) + "\n")
    return ExportedDeltas(out, deltas, bias)
