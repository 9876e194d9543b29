"""Clusters that were made elsewhere: labels, PCA and embeddings in the spec's formats.

A joblib file is a pickle, and a pickle can run any code when it is loaded: such files are opened only with
`clusters.trust_files: true`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from engine.array_file import load_array
from engine.errors import DataError
from engine.evolution.clusters.cluster_map import FIRST_KMEANS, NO_CLUSTER
from engine.lm.vocabulary import Vocabulary


def read_array(path: str, setting: str) -> NDArray[Any]:
    """An array from a .npy file, never a pickle in one."""
    try:
        return load_array(_existing(path, setting))
    except (ValueError, OSError) as error:
        raise DataError(
            what=f"no readable .npy file: {error}", where=f"{setting}: {path}", hint="save it with numpy.save"
        ) from error


def read_embeddings(path: str, vocabulary: Vocabulary) -> NDArray[np.float32]:
    """float (at least the vocabulary's tokens, at most its rows; dimension); missing padding rows are zero."""
    setting = "clusters.embeddings"
    matrix = read_array(path, setting)
    if matrix.ndim != 2 or matrix.dtype.kind != "f" or not np.isfinite(matrix).all():
        raise DataError(
            what=f"embeddings are a matrix of finite floats, not {matrix.dtype} of shape {matrix.shape}",
            where=f"{setting}: {path}",
            hint="give one row for each token of the model's vocabulary",
        )
    _check_length(len(matrix), vocabulary, f"{setting}: {path}")
    rows = np.zeros((len(vocabulary), matrix.shape[1]), dtype=np.float32)
    rows[: len(matrix)] = matrix
    return rows


def read_labels(path: str, vocabulary: Vocabulary, trusted: bool) -> NDArray[np.int64]:
    """k-means label of every row: from 0; negative where a row never went through k-means."""
    setting = "clusters.labels"
    where = f"{setting}: {path}"
    content = read_array(path, setting) if path.endswith(".npy") else read_pickle(path, setting, trusted)
    labels = np.asarray(getattr(content, "labels_", content))
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise DataError(
            what=f"labels are whole numbers, one a token, not {labels.dtype} of shape {labels.shape}",
            where=where,
            hint="give the `labels_` of k-means",
        )
    _check_length(len(labels), vocabulary, where)
    if labels.max() + FIRST_KMEANS >= NO_CLUSTER:
        raise DataError(
            what=f"label {labels.max()}: there are too many clusters",
            where=where,
            hint=f"use at most {NO_CLUSTER - FIRST_KMEANS} k-means clusters",
        )
    rows = np.full(len(vocabulary), -1, dtype=np.int64)
    rows[: len(labels)] = labels
    return rows


def read_pickle(path: str, setting: str, trusted: bool) -> Any:
    """Content of a joblib file. Raises DataError unless the user trusts the file."""
    file = _existing(path, setting)
    if not trusted:
        raise DataError(
            what="this is a joblib file, hence a pickle, which can run any program when it is opened",
            where=f"{setting}: {path}",
            hint="if you know who made it, set `clusters.trust_files: true`"
            + ("; or give the labels as a .npy file" if setting == "clusters.labels" else ""),
        )
    try:
        return joblib.load(file)
    except Exception as error:  # a pickle raises whatever its contents raise
        raise DataError(
            what=f"the file cannot be loaded: {type(error).__name__}: {error}",
            where=f"{setting}: {path}",
            hint="make it again with this version of scikit-learn",
        ) from error


def _existing(path: str, setting: str) -> Path:
    file = Path(path).expanduser()
    if not file.is_file():
        raise DataError(what="no such file", where=f"{setting}: {path}", hint="correct the path")
    return file


def _check_length(length: int, vocabulary: Vocabulary, where: str) -> None:
    """Every token needs a row; padding rows may be left out."""
    least = int(np.flatnonzero(~vocabulary.padding).max()) + 1
    if not least <= length <= len(vocabulary):
        raise DataError(
            what=f"there are {length} rows, the model has {least} tokens in {len(vocabulary)} rows",
            where=where,
            hint="use files that were made for this model's vocabulary",
        )
