"""The evolved deltas in the forms of servers: OpenAI's `logit_bias`, a file for vLLM or transformers, a string for
SGLang.

The deltas depend on nothing but the token: neither on its place nor on what was written. So nothing is lost in any of
these forms but where `logit_bias` has no room for all tokens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.config.models.model import ModelSection
from engine.errors import DataError
from engine.evolution import layout
from engine.evolution.clusters.cluster_map import NO_CLUSTER, ClusterMap, load_cluster_map
from engine.evolution.deltas import Deltas, read_deltas
from engine.evolution.processor import processor_source, sglang_processor_string
from engine.evolution.processors.vllm_class import VLLM_CLASS
from engine.files import read_jsonl, write_atomic
from engine.lm.vocabulary import load_vocabulary
from engine.run.directory import RunDirectory

Form = Literal["logit-bias", "vllm", "sglang", "transformers"]
MOST_BIASES, LARGEST_BIAS = 300, 100.0
"""What OpenAI's servers take."""


@dataclass(frozen=True)
class Bias:
    """`values`: token -> bias. `shift`: what was taken from all of them, which changes no probability. `left_out`:
    tokens that would need a bias and have none; `share`: of counted tokens that are among these, None where nothing was
    counted; `cut`: biases beyond the allowed range, brought to the limit."""

    values: dict[int, float]
    shift: float
    left_out: int = 0
    share: float | None = None
    cut: int = 0

    @property
    def exact(self) -> bool:
        """Whether it does what the deltas do."""
        return not self.left_out and not self.cut


def logit_bias(
    clusters: ClusterMap,
    deltas: Mapping[str, float],
    most: int = MOST_BIASES,
    counts: NDArray[np.int64] | None = None,
) -> Bias:
    """At most `most` biases (0: as many as it takes). What most tokens get is taken from all: a softmax does not see
    it, and these tokens need none. Where room is short, tokens with the largest counts · |bias| stay, those with the
    largest |bias| where nothing was counted. Rows without a token get none: they cannot be written."""
    sizes = clusters.sizes()
    common = _most_common([deltas[name] for name in clusters.names], sizes)
    table = np.zeros(NO_CLUSTER + 1)
    table[: clusters.count] = [deltas[name] - common for name in clusters.names]
    row = table[clusters.ids]
    nonzero = np.flatnonzero(row)
    counted = counts is not None and bool(counts.any())
    weight = np.abs(row) * (counts if counts is not None and counted else 1)
    order = sorted(nonzero.tolist(), key=lambda token: (-weight[token], -abs(row[token]), token))
    kept = sorted(order[:most] if most else order)
    dropped = order[len(kept) :]
    share = float(counts[dropped].sum() / counts.sum()) if counts is not None and counted else None
    values = {token: float(np.clip(row[token], -LARGEST_BIAS, LARGEST_BIAS)) for token in kept}
    cut = sum(abs(row[token]) > LARGEST_BIAS for token in kept)
    return Bias({token: round(value, 6) for token, value in values.items()}, common, len(dropped), share, cut)


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


def export_deltas(
    run: RunDirectory,
    form: Form,
    out: Path,
    most: int = MOST_BIASES,
    lossy: bool = False,
    model: str | None = None,
) -> ExportedDeltas:
    """Write the run's best deltas to `out`. `model`: folder or hub name of the model they are for, whose tokens are
    compared. Raises DataError, and ModelError for `model`; also where biases would have to be left out or cut, unless
    `lossy`."""
    folder = layout.folder(run.path)
    clusters = load_cluster_map(folder)
    best = layout.deltas_best(run.path)
    if not best.is_file():
        raise DataError(
            what="there are no evolved deltas",
            where=str(best),
            hint="run the stage `evolve` of this run first",
        )
    deltas = read_deltas(best, clusters.names)
    if model is not None:
        _same_tokens(clusters, model)
    if form == "logit-bias":
        bias = logit_bias(
            clusters, deltas, most, _counts(layout.token_frequency(run.path), clusters.vocab_size)
        )
        if not bias.exact and not lossy:
            raise _does_not_fit(bias, most)
        values = {str(token): value for token, value in bias.values.items()}
        write_atomic(out, json.dumps({"logit_bias": values}, indent=1) + "\n")
        return ExportedDeltas(out, deltas, bias)
    source = processor_source(clusters, deltas)
    if form == "sglang":
        string = sglang_processor_string(layout.processor_best(run.path))
        write_atomic(out, json.dumps({"custom_logit_processor": string}) + "\n")
    else:
        write_atomic(out, source + (VLLM_CLASS if form == "vllm" else ""))
    return ExportedDeltas(out, deltas)


def _does_not_fit(bias: Bias, most: int) -> DataError:
    share = "" if bias.share is None else f", {bias.share:.1%} of the tokens that were counted"
    cut = f"{bias.cut} would be cut to ±{LARGEST_BIAS:g}" if bias.cut else ""
    out = f"{bias.left_out} of {bias.left_out + len(bias.values)} tokens that need a bias find no room{share}"
    return DataError(
        what="; ".join(filter(None, [out if bias.left_out else "", cut])),
        where=f"--format logit-bias, at most {most or 'any number of'} entries",
        hint="choose another format, --limit 0 for a server that takes more entries, or --lossy, which keeps those "
        "that matter most",
    )


def _same_tokens(clusters: ClusterMap, model: str) -> None:
    vocabulary = load_vocabulary(ModelSection(backend="transformers", path=model))
    if vocabulary.fingerprint != clusters.vocabulary:
        raise DataError(
            what=f"this model has other tokens than the deltas were evolved with ({len(vocabulary)} and "
            f"{clusters.vocab_size} rows)",
            where=model,
            hint="name a model with the same tokenizer, or evolve deltas for this one",
        )


def _counts(path: Path, size: int) -> NDArray[np.int64] | None:
    """How often each token was written in the answers that the stage `clusters` counted; None where it counted none."""
    if not path.is_file():
        return None
    tokens = [token for line in read_jsonl(path) for token in line.get("tokens", ()) if 0 <= token < size]
    return np.bincount(np.array(tokens, dtype=np.int64), minlength=size)
