"""The search for nearest rows is done once, and again where its file does not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.pool.neighbours import load_or_search
from engine.run.gate import StopRequested

TABLE = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
QUERIES = list(TABLE[:3])
NAMES = ["a", "b", "c"]


def never() -> None:
    raise StopRequested


def test_what_was_searched_is_not_searched_again(tmp_path: Path):
    path = tmp_path / "neighbours.npz"
    first = load_or_search(path, NAMES, TABLE, QUERIES, 5, lambda: None)
    again = load_or_search(path, NAMES, TABLE, QUERIES, 5, never)
    assert [again.of(number) for number in range(3)] == [first.of(number) for number in range(3)]
    assert first.of(1)[0] == 1


@pytest.mark.parametrize("change", ["names", "k", "table", "grown", "torn", "other"])
def test_a_file_that_does_not_fit_is_written_anew(tmp_path: Path, change: str):
    path = tmp_path / "neighbours.npz"
    load_or_search(path, NAMES, TABLE, QUERIES, 5, lambda: None)
    if change == "torn":
        path.write_bytes(path.read_bytes()[:-40])
    if change == "other":
        np.savez(path, names=np.array(NAMES))
    names = ["a", "b", "d"] if change == "names" else NAMES
    k, table = 6 if change == "k" else 5, TABLE[:40] if change == "table" else TABLE
    if change == "grown":
        table = np.concatenate([TABLE, TABLE[:1]])
    with pytest.raises(StopRequested):
        load_or_search(path, names, table, QUERIES, k, never)
    found = load_or_search(path, names, table, QUERIES, k, lambda: None)
    assert found.rows.shape == (3, k)
    load_or_search(path, names, table, QUERIES, k, never)


def test_no_queries_have_no_neighbours(tmp_path: Path):
    assert load_or_search(tmp_path / "n.npz", [], TABLE, [], 5, lambda: None).rows.shape == (0, 5)
