"""PCA and k-means of embedded tokens, by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA

from engine.evolution.clusters.clustering import fit_pca, kmeans_labels, project

SEED = 2**40 + 7
"""Seeds of a run are longer than those that scikit-learn takes."""


@pytest.mark.parametrize(
    ("rows", "width", "asked", "components"), [(6, 4, 3, 3), (6, 4, 4, 4), (6, 4, 5, 4), (2, 4, 3, 2)]
)
def test_there_are_as_many_components_as_asked_for_or_as_can_be(
    rows: int, width: int, asked: int, components: int
) -> None:
    embeddings = np.random.default_rng(0).normal(size=(rows, width)).astype(np.float32)
    assert fit_pca(embeddings, asked, SEED).n_components_ == components


def test_a_pca_of_float64_gives_points_of_float32() -> None:
    """One that was made elsewhere: everything after it is as with one that is made here."""
    rows = np.random.default_rng(0).normal(size=(6, 4))
    pca: Any = PCA(n_components=2).fit(rows)
    points = project(pca, rows.astype(np.float32))
    assert points.shape == (6, 2) and points.dtype == np.float32
    np.testing.assert_allclose(points, (rows - rows.mean(0)) @ pca.components_.T, atol=1e-5)


def test_points_that_lie_together_have_one_label() -> None:
    points = np.array([[0, 0], [9, 9], [0, 1], [9, 8], [0, 9]], np.float32)
    labels = kmeans_labels(points, 3, SEED)
    assert labels.dtype == np.int32 and sorted(set(labels.tolist())) == [0, 1, 2]
    assert labels[0] == labels[2] and labels[1] == labels[3]
