"""Key/values of rows of different lengths that join and leave a batch, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.lm.transformers.kv_cache import BatchKv, KvLayout, KvProbe, RowKv, RunningKv, joined
from engine.lm.transformers.network import _padded, _prefill_positions
from tests.exactly import exactly

LAYOUT = KvLayout(
    shapes=((1, 1),), sizes=(2,), places={0: ((0, 0), (0, 1))}, dtype=torch.float32, device=torch.device("cpu")
)  # fmt: skip
"""One layer, one head of one number."""


def row(*numbers: float) -> RowKv:
    """Keys are these numbers, values a hundred more."""
    return RowKv([torch.tensor([numbers, [100 + n for n in numbers]])[:, None, :, None]])


def keys(batch: BatchKv) -> list[list[float]]:
    found, values = (view[:, 0, :, 0] for view in batch.views[0])
    assert ((values == found + 100) | (values == 0)).all()
    return found.tolist()


def shown(kv: RowKv) -> list[float]:
    assert kv.planes[0][1].equal(kv.planes[0][0] + 100)
    return kv.planes[0][0, 0, :, 0].tolist()


def test_tensors_of_one_shape_are_in_one_plane() -> None:
    """Layer 1 has as many heads for its keys as layer 0, of another width."""
    probe = KvProbe()
    for layer, widths in ((1, (4, 2)), (0, (4, 4))):
        key, value = (torch.zeros(1, 3, 2, width, dtype=torch.float64) for width in widths)
        assert probe.update(key, value, layer) == (key, value)
    layout = probe.layout()
    assert (layout.shapes, layout.sizes) == (((3, 4), (3, 2)), (3, 1))
    assert layout.places == {0: ((0, 0), (0, 1)), 1: ((0, 2), (1, 0))}
    assert (layout.dtype, layout.device.type) == (torch.float64, "cpu")
    with pytest.raises(ValueError, match=exactly("the model keeps no key/values")):
        KvProbe().layout()


def test_a_row_is_cut_and_put_together_again() -> None:
    whole = row(1, 2, 3, 4)
    assert (whole.length, shown(whole.part(1, 3))) == (4, [2, 3])
    assert shown(joined([whole.part(0, 1), whole.part(1, 1), whole.part(2, 4)])) == [1, 3, 4]


def test_rows_end_in_the_last_used_column() -> None:
    """Of one, three and two tokens; the second is given in two pieces. Two columns are to spare."""
    batch = RunningKv.empty(LAYOUT).with_rows([[row(1)], [row(2, 3), row(4)], [row(5, 6)]], 2)
    assert (batch.used, batch.capacity, batch.rows, batch.lengths.tolist()) == (3, 5, 3, [1, 3, 2])
    assert keys(batch) == [[0, 0, 1, 0, 0], [2, 3, 4, 0, 0], [0, 5, 6, 0, 0]]
    assert batch.positions.tolist() == [[-2, -1, 0, 1, 2], [0, 1, 2, 3, 4], [-1, 0, 1, 2, 3]]
    assert shown(batch.take(1, 1, 3)) == [3, 4]
    assert (batch.get_seq_length(), batch.get_query_offset(), batch.get_mask_sizes(2, 0)) == (3, 3, (5, 0))


def test_a_pass_writes_a_column_that_counts_once_it_is_through() -> None:
    batch = RunningKv.empty(LAYOUT).with_rows([[row(1)], [row(2, 3)]], 2)
    new = torch.tensor([7.0, 8.0]).reshape(2, 1, 1, 1)
    seen, values = batch.update(new, new + 100, 0)
    assert seen[:, 0, :, 0].tolist() == [[0, 1, 7], [2, 3, 8]] and values.shape == (2, 1, 3, 1)
    assert (batch.used, batch.lengths.tolist()) == (2, [1, 2])
    batch.advance()
    assert (batch.used, batch.lengths.tolist()) == (3, [2, 3])


def test_rows_that_leave_make_room_and_columns_of_theirs_alone_are_dropped() -> None:
    """The last row moves into the first's place; with the longest gone, two columns are enough for who stays."""
    batch = RunningKv.empty(LAYOUT).with_rows([[row(1)], [row(2, 3)], [row(4, 5, 6)], [row(7, 8)]], 1)
    assert batch.leave(np.array([False, True, False, True])).tolist() == [3, 1]
    assert (batch.rows, batch.used, batch.lengths.tolist()) == (2, 3, [2, 2])
    assert keys(batch) == [[0, 7, 8, 0], [0, 2, 3, 0]]
    assert batch.positions.tolist() == [[-1, 0, 1, 2], [-1, 0, 1, 2]]
    more = batch.with_rows([[row(9)]], 3)
    assert (more.used, more.capacity, more.lengths.tolist()) == (2, 5, [2, 2, 1])
    assert keys(more) == [[7, 8, 0, 0, 0], [2, 3, 0, 0, 0], [0, 9, 0, 0, 0]]
    assert batch.leave(np.array([False, False])).tolist() == [] and batch.rows == 0


def test_rows_that_stay_keep_their_order_where_the_last_ones_leave() -> None:
    batch = RunningKv.empty(LAYOUT).with_rows([[row(n)] for n in (1, 2, 3, 4, 5)], 0)
    assert batch.leave(np.array([True, False, True, True, False])).tolist() == [0, 3, 2]
    assert keys(batch) == [[1], [4], [3]]


def test_places_of_a_pass_over_texts_of_which_parts_are_cached() -> None:
    """None of three tokens is cached of the first, two of three of the second: cached ones end where new ones begin."""
    positions = _prefill_positions(np.array([0, 2]), np.array([3, 1]))
    assert positions.tolist() == [[-1, -1, 0, 1, 2], [0, 1, -1, -1, 2]]


@pytest.mark.parametrize(("right", "rows"), [(True, [[0, 0, 5], [6, 7, 8]]), (False, [[5, 0, 0], [6, 7, 8]])])
def test_tokens_are_padded_at_one_side(right: bool, rows: list[list[int]]) -> None:
    padded = _padded([[5], [6, 7, 8]], 3, right)
    assert (padded.tolist(), padded.dtype) == (rows, np.int64)
