"""`cluster_descriptions.json`: each cluster in words, for the reflector and for readers (spec Evolution 1, 4.1)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import DataError
from engine.evolution.clusters.cluster_map import EOS_CLUSTER, NUMBER_CLUSTER, ClusterMap
from engine.evolution.clusters.special_clusters import SYMBOLS, Numbers
from engine.evolution.clusters.token_frequency import TokenFrequency
from engine.files import converted, decoded, write_atomic
from engine.lm.vocabulary import Vocabulary

_EOS = "EOS/EOT: the tokens that end a text or a turn"
_HINT = "give a JSON object with one entry for each cluster id"
_NAMED = 5
"""Tokens of each kind that a description in words names."""


@dataclass(frozen=True)
class ClusterDescription:
    """`share`: how much of all counted tokens fell into the cluster (0 when nothing was counted).
    `central_tokens`: nearest to the cluster's mean first; `frequent_tokens`: most counted first."""

    description: str
    size: int
    share: float = 0.0
    central_tokens: list[str] = field(default_factory=list)
    frequent_tokens: list[str] = field(default_factory=list)


_COUNTED = ("size", "share", "central_tokens", "frequent_tokens")
"""What each run counts itself."""
Descriptions = dict[str, ClusterDescription]
"""Cluster id -> description."""


def describe(
    clusters: ClusterMap,
    vocabulary: Vocabulary,
    points: NDArray[np.float32] | None,
    frequency: TokenFrequency,
    listed: int,
    numbers: str,
    given: dict[str, str] | None = None,
) -> Descriptions:
    """Describe every cluster. `points`: (vocab_size, components) in the PCA's space, None if there is none;
    `listed`: tokens named at most; `numbers`: what cluster 1 holds, in words; `given`: descriptions made elsewhere,
    which keep their words."""
    special = {EOS_CLUSTER: _EOS, NUMBER_CLUSTER: numbers}
    total = int(frequency.counts[clusters.ids < clusters.count].sum())
    descriptions: Descriptions = {}
    for cluster, name in enumerate(clusters.names):
        members = np.flatnonzero(clusters.ids == cluster)
        counts = frequency.counts[members]
        central = [] if points is None else members[_by_distance(points[members])].tolist()
        frequent = members[np.argsort(-counts, kind="stable")][: int((counts > 0).sum())].tolist()
        central_tokens = _distinct(vocabulary.texts, central, listed)
        frequent_tokens = _distinct(vocabulary.texts, frequent, listed)
        words = (given or {}).get(name) or special.get(cluster)
        descriptions[name] = ClusterDescription(
            description=words or _words(central_tokens, frequent_tokens, counted=total > 0),
            size=len(members),
            share=round(int(counts.sum()) / total, 6) if total else 0.0,
            central_tokens=central_tokens,
            frequent_tokens=frequent_tokens,
        )
    return descriptions


def number_words(numbers: Numbers) -> str:
    """Cluster 1 in words."""
    return f"numbers and arithmetic symbols (digits, {' '.join(SYMBOLS[numbers])})"


def in_json(descriptions: Descriptions, answers: Sequence[int] = ()) -> dict[str, dict[str, Any]]:
    """One entry a cluster. Where no token was counted, none is frequent, and shares are those of `answers`, the ids of
    their tokens' clusters; without answers there are none."""
    entries = {name: asdict(description) for name, description in descriptions.items()}
    if any(description.share for description in descriptions.values()):
        return entries
    for name, entry in entries.items():
        del entry["share"], entry["frequent_tokens"]
        if answers:
            entry["share"] = round(answers.count(int(name)) / len(answers), 6)
    return entries


def write_descriptions(path: Path, descriptions: Descriptions) -> None:
    """Write atomically, one entry a cluster."""
    write_atomic(path, json.dumps(in_json(descriptions), indent=2, ensure_ascii=False) + "\n")


def read_descriptions(path: Path, clusters: Sequence[str]) -> Descriptions:
    """Read what `write_descriptions` wrote. Raises DataError."""
    content = _content(path, clusters)
    return {
        name: converted(content[name], ClusterDescription, f"{path}: cluster {name}", _HINT)
        for name in clusters
    }


def read_given_descriptions(path: Path, clusters: Sequence[str]) -> dict[str, str]:
    """Descriptions made elsewhere, in words: a string each, or an object (its `description`, then as
    JSON what no run counts itself)."""
    return {name: _in_words(entry) for name, entry in _content(path, clusters).items()}


def _in_words(entry: object) -> str:
    if isinstance(entry, str):
        return entry
    if not isinstance(entry, dict) or not isinstance(entry.get("description"), str):
        return json.dumps(entry, ensure_ascii=False)
    left_out = (*_COUNTED, "description")
    rest = {name: value for name, value in entry.items() if name not in left_out and value is not None}
    return f"{entry['description']} {json.dumps(rest, ensure_ascii=False) if rest else ''}".strip()


def _content(path: Path, clusters: Sequence[str]) -> dict[str, Any]:
    content = decoded(path, dict[str, Any], "these are not cluster descriptions", _HINT)
    if set(content) != set(clusters):
        what = f"these describe {', '.join(content)}; the clusters are {clusters[0]} to {clusters[-1]}"
        raise DataError(what=what, where=str(path), hint=_HINT)
    return content


def _by_distance(points: NDArray[np.float32]) -> NDArray[np.int64]:
    """Members by their distance from their mean, nearest first."""
    if not len(points):
        return np.zeros(0, dtype=np.int64)
    return np.argsort(np.linalg.norm(points - points.mean(axis=0), axis=1), kind="stable")


def _distinct(texts: Sequence[str], tokens: Sequence[int], most: int) -> list[str]:
    """Distinct texts of tokens without surrounding white space; partial characters and control codes are left
    out."""
    distinct: dict[str, None] = {}
    for token in tokens:
        core = texts[token].strip()
        if texts[token] and core.isprintable() and "\ufffd" not in core:
            distinct.setdefault(core or texts[token])
        if len(distinct) == most:
            break
    return list(distinct)


def _words(central: Sequence[str], frequent: Sequence[str], counted: bool) -> str:
    def named(tokens: Sequence[str]) -> str:
        return " ".join(json.dumps(token, ensure_ascii=False) for token in tokens[:_NAMED])

    phrases = [f"tokens such as {named(central)}" if central else "parts of characters"]
    if counted:
        phrases.append(f"most used: {named(frequent)}" if frequent else "not used")
    return "; ".join(phrases)
