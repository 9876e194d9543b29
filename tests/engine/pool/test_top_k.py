"""Blocked search: equal to sorting everything, whatever the blocks; hostile rows are nobody's neighbours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.pool.top_k import NO_ROW, similarities, top_k
from engine.run.gate import StopRequested


def drawn(rows: int, width: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)


def by_sorting(table: np.ndarray, query: np.ndarray, k: int) -> list[int]:
    cosine = table @ query / np.linalg.norm(table, axis=1) / np.linalg.norm(query)
    return np.argsort(-cosine, kind="stable")[:k].tolist()


@given(
    rows=st.integers(0, 50),
    queries=st.integers(1, 5),
    k=st.integers(1, 60),
    block=st.integers(1, 60),
    seed=st.integers(0, 5),
)
def test_blocks_change_nothing(rows: int, queries: int, k: int, block: int, seed: int):
    table, asked = drawn(rows, seed=seed), drawn(queries, seed=seed + 100)
    found = top_k(table, asked, k, block_rows=block)
    for number, query in enumerate(asked):
        assert found.of(number) == by_sorting(table, query, k)
        assert len(found.of(number)) == min(k, rows)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=30), st.integers(1, 8))
def test_of_equals_the_lower_row_comes_first(kinds: list[int], block: int):
    """Rows that are copies of three: ties everywhere."""
    table = np.eye(3, dtype=np.float32)[kinds]
    found = top_k(table, np.array([[3.0, 2.0, 1.0]]), 10, block_rows=block)
    assert found.of(0) == sorted(range(len(kinds)), key=lambda row: (kinds[row], row))[:10]


def test_what_is_not_finite_is_left_out():
    table = drawn(20)
    table[3, 2] = np.nan
    table[4, 0] = np.inf
    table[5] = 1e30  # its length overflows
    table[6] = 0
    asked = np.stack([table[0], np.full(6, np.nan, np.float32), table[1]])
    found = top_k(table, asked, 20, block_rows=7)
    assert sorted(found.of(0)) == sorted(set(range(20)) - {3, 4, 5})
    assert found.of(1) == [] and (found.rows[1] == NO_ROW).all() and (found.similarity[1] == -np.inf).all()
    assert found.of(2)[0] == 1
    assert similarities(table, [3, 6, 0], table[0]) == pytest.approx([-np.inf, 0, 1])


def test_a_memory_mapped_table_of_half_precision(tmp_path: Path):
    table = drawn(100).astype(np.float16)
    np.save(tmp_path / "table.npy", table)
    mapped = np.load(tmp_path / "table.npy", mmap_mode="r")
    found = top_k(mapped, table[:4].astype(np.float32), 5, block_rows=13)
    assert [found.of(number)[0] for number in range(4)] == [0, 1, 2, 3]


def test_a_stop_ends_the_search_between_blocks():
    asked = iter(range(3))

    def checkpoint() -> None:
        if next(asked, None) is None:
            raise StopRequested

    with pytest.raises(StopRequested):
        top_k(drawn(50), drawn(1), 3, checkpoint, block_rows=10)


@pytest.mark.filterwarnings("error")
def test_numbers_that_are_too_large_are_nobodys_neighbours_and_warn_nobody() -> None:
    """Beyond float32, or with a square beyond it."""
    table = np.array([[1e300, 0], [1e30, 0], [1, 1], [np.nan, 1], [0, 0], [2, 0]])
    query = np.array([1.0, 0.0])
    assert top_k(table, query[None], 6).of(0) == [5, 2, 4]
    assert similarities(table, range(6), query).tolist() == pytest.approx(
        [-np.inf, -np.inf, 2**-0.5, -np.inf, 0, 1]
    )
