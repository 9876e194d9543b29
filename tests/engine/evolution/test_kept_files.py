"""Files of a run that somebody has changed: told, never taken for what they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import DataError
from engine.evolution.clusters.cluster_map import (
    ABOUT_FILE,
    IDS_FILE,
    ClusterMap,
    load_cluster_map,
    save_cluster_map,
)
from engine.evolution.history import read_history
from tests.exactly import exactly


@pytest.mark.parametrize(
    "change", ({"clusters": 10**30}, {"clusters": 4}, {"sizes": [3, 3]}, {"sizes": None}, {})
)
def test_clusters_are_those_that_were_written(tmp_path: Path, change: dict[str, Any]) -> None:
    ids = np.array([0, 1, 1, 0, 1, 2], dtype=np.uint8)
    save_cluster_map(ClusterMap(ids, 3, "v"), tmp_path)
    found = load_cluster_map(tmp_path)
    assert (found.sizes(), found.of([5, 6, 1])) == ([2, 3, 1], [2, 1]), "there is no token 6"
    assert ClusterMap(ids, 4, "v").sizes() == [2, 3, 1, 0]
    assert ClusterMap(np.array([0, 255, 255], dtype=np.uint8), 2, "v").sizes() == [1, 0], "255 is no cluster"
    if change:
        about = json.loads((tmp_path / ABOUT_FILE).read_text()) | change
        (tmp_path / ABOUT_FILE).write_text(json.dumps(about))
    else:  # another token's cluster, of the right form
        ids[0] = 2
        np.save(tmp_path / IDS_FILE, ids)
    with pytest.raises(
        DataError,
        match=exactly(
            "the clusters cannot be read: cluster_ids.npy is not what clusters.json says (…): run the stage "
            "`clusters` of this run first"
        ),
    ):
        load_cluster_map(tmp_path)


def test_as_many_clusters_as_a_byte_can_name(tmp_path: Path) -> None:
    """255, 0 to 254: 255 stands for none. An id from there to the count is no cluster."""
    ids = np.array([0, 254, 255], dtype=np.uint8)
    save_cluster_map(ClusterMap(ids, 255, "v"), tmp_path)
    found = load_cluster_map(tmp_path)
    assert (found.count, found.sizes()[0], found.sizes()[254], sum(found.sizes())) == (255, 1, 1, 2)
    save_cluster_map(ClusterMap(np.array([0, 1, 7], dtype=np.uint8), 2, "v"), tmp_path)
    with pytest.raises(DataError, match=r"cluster_ids\.npy is not what clusters\.json says"):
        load_cluster_map(tmp_path)


def test_a_history_without_iterations_has_lost_them(tmp_path: Path) -> None:
    """It was read as a run that had done nothing yet."""
    path = tmp_path / "history.json"
    path.write_text("{}")
    with pytest.raises(
        DataError,
        match=exactly(
            "the history cannot be read: Object missing required field `iterations` (…/history.json): restore the"
            " file, or start a new run"
        ),
    ):
        read_history(path)
    path.write_text('{"iterations": []}')
    assert read_history(path).iterations == []
