"""Which cluster every row of the logits belongs to, in files that are read without pickle.

Clusters 0 and 1 are the special ones; a k-means label l is cluster l + 2 (spec Evolution 2.5). Rows that no
token stands behind (a vocabulary is padded to a round size) belong to no cluster: nothing is added to them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.array_file import load_array
from engine.errors import DataError
from engine.files import write_atomic
from engine.regular_file import LARGEST_RECORD, read_regular

EOS_CLUSTER, NUMBER_CLUSTER, FIRST_KMEANS = 0, 1, 2
NO_CLUSTER = 255
"""A row without a cluster; ids are bytes, so 255 clusters (0 to 254) are the most there can be."""

IDS_FILE, ABOUT_FILE = "cluster_ids.npy", "clusters.json"


def cluster_names(count: int) -> list[str]:
    """Cluster ids in order, as JSON keys."""
    return [str(cluster) for cluster in range(count)]


@dataclass(frozen=True)
class ClusterMap:
    """`ids`: uint8 (vocab_size,); `count`: clusters, the special two included; `vocabulary`: fingerprint of
    the vocabulary they were made for."""

    ids: NDArray[np.uint8]
    count: int
    vocabulary: str

    @property
    def vocab_size(self) -> int:
        """Rows of the logits."""
        return len(self.ids)

    @property
    def names(self) -> list[str]:
        """Cluster ids as deltas and descriptions name them: "0", "1", ..."""
        return cluster_names(self.count)

    def of(self, tokens: Sequence[int]) -> list[int]:
        """The cluster of each token that has a row."""
        return [int(self.ids[token]) for token in tokens if token < len(self.ids)]

    def sizes(self) -> list[int]:
        """Tokens of each cluster."""
        return np.bincount(self.ids, minlength=self.count)[: self.count].tolist()


def save_cluster_map(clusters: ClusterMap, folder: Path) -> list[Path]:
    """Write `cluster_ids.npy`, then `clusters.json`: where the second is, the first is whole."""
    buffer = io.BytesIO()
    np.save(buffer, clusters.ids)
    about = {
        "vocab_size": clusters.vocab_size,
        "clusters": clusters.count,
        "sizes": clusters.sizes(),
        "vocabulary": clusters.vocabulary,
    }
    write_atomic(folder / IDS_FILE, buffer.getvalue())
    write_atomic(folder / ABOUT_FILE, json.dumps(about, indent=2) + "\n")
    return [folder / IDS_FILE, folder / ABOUT_FILE]


def load_cluster_map(folder: Path) -> ClusterMap:
    """Read what `save_cluster_map` wrote. Raises DataError for files that are missing or do not fit."""
    try:
        about = json.loads(read_regular(folder / ABOUT_FILE, LARGEST_RECORD))
        ids = load_array(folder / IDS_FILE)
        clusters = ClusterMap(ids, int(about["clusters"]), str(about["vocabulary"]))
        fits = ids.dtype == np.uint8 and ids.shape == (about["vocab_size"],)
        fits = fits and 0 < clusters.count <= NO_CLUSTER and about["sizes"] == clusters.sizes()
        if not fits or not ((ids < clusters.count) | (ids == NO_CLUSTER)).all():
            raise ValueError("cluster_ids.npy is not what clusters.json says")
    except FileNotFoundError as error:
        raise _unusable(folder, f"`{Path(str(error.filename)).name}` is not there") from error
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise _unusable(folder, f"the clusters cannot be read: {error}") from error
    return clusters


def _unusable(folder: Path, what: str) -> DataError:
    return DataError(what=what, where=str(folder), hint="run the stage `clusters` of this run first")
