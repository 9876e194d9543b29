"""PCA and k-means over embedded tokens (spec Evolution 2.5)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from engine.errors import ConfigError, Problem

RESTARTS = 10
"""Seeded starts of k-means; the tightest clustering is kept."""


def fit_pca(rows: NDArray[np.float32], components: int, seed: int) -> PCA:
    """PCA of `rows` (n, dimension); as many components as asked for, or as there can be."""
    most = min(components, *rows.shape)
    with threadpool_limits(1), np.errstate(invalid="ignore"):  # identical rows: kmeans_labels reports them
        return PCA(n_components=most, random_state=seed % 2**32).fit(rows)


def project(pca: Any, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """`rows` in the PCA's space: (n, components)."""
    with threadpool_limits(1):
        return np.asarray(pca.transform(rows), dtype=np.float32)


def kmeans_labels(points: NDArray[np.float32], k: int, seed: int) -> NDArray[np.int32]:
    """Label 0 to k-1 of every point. One thread: sums in another order would give other labels.

    Raises ConfigError when there are not k different points."""
    most = len(np.unique(np.round(points, 4), axis=0))
    if most < k:
        raise ConfigError([Problem("clusters.k", str(k), f"at most {most}: so many tokens differ")])
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        settings: dict[str, Any] = {"n_init": RESTARTS, "random_state": seed % 2**32}
        fitted = KMeans(k, **settings).fit(points)
    assert fitted.labels_ is not None
    return fitted.labels_.astype(np.int32)
