"""Key/values of a batch whose rows have different lengths, and of single rows copied out of it.

A batch keeps its rows aligned on the right: all rows write the next token into the same column, whatever their
lengths, with one slice copy in each layer. `positions` says which columns belong to a row.
All layers' tensors of one shape are in one *plane*: copying a row out or back in is one copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import Cache

GROWTH = 64
"""Most columns that a batch has to spare at first, and least by which a full one grows."""


@dataclass(frozen=True)
class KvLayout:
    """Where each layer's keys and values are stored. `shapes[p]` = (heads, width) of plane p, which has `sizes[p]`
    tensors; `places[layer]` = ((plane, index) of the keys, (plane, index) of the values)."""

    shapes: tuple[tuple[int, int], ...]
    sizes: tuple[int, ...]
    places: dict[int, tuple[tuple[int, int], tuple[int, int]]]
    dtype: torch.dtype
    device: torch.device


class KvProbe(Cache):
    """A cache that records the shapes of the keys and values of a forward pass."""

    def __init__(self) -> None:
        super().__init__(layers=[])
        self.seen: dict[int, tuple[Tensor, Tensor]] = {}

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        self.seen[layer_idx] = (key_states, value_states)
        return key_states, value_states

    def layout(self) -> KvLayout:
        """The layout for the recorded shapes. Raises ValueError where the pass stored no key/values."""
        if not self.seen:
            raise ValueError("the model keeps no key/values")
        shapes: list[tuple[int, int]] = []
        sizes: list[int] = []

        def place(tensor: Tensor) -> tuple[int, int]:
            shape = (tensor.shape[1], tensor.shape[3])
            if shape not in shapes:
                shapes.append(shape)
                sizes.append(0)
            plane = shapes.index(shape)
            sizes[plane] += 1
            return plane, sizes[plane] - 1

        places = {layer: (place(key), place(value)) for layer, (key, value) in sorted(self.seen.items())}
        key = next(iter(self.seen.values()))[0]
        return KvLayout(tuple(shapes), tuple(sizes), places, key.dtype, key.device)


@dataclass
class RowKv:
    """Key/values of one row's tokens: `planes[p]` of shape (sizes[p], heads, length, width)."""

    planes: list[Tensor]

    @property
    def length(self) -> int:
        return self.planes[0].shape[2]

    def part(self, start: int, end: int) -> RowKv:
        """View of the tokens from `start` to `end` (exclusive)."""
        return RowKv([plane[:, :, start:end] for plane in self.planes])


def joined(pieces: Sequence[RowKv]) -> RowKv:
    """Consecutive pieces of one row, concatenated in new memory."""
    return RowKv(
        [torch.cat(planes, dim=2) for planes in zip(*(piece.planes for piece in pieces), strict=True)]
    )


class BatchKv(Cache):
    """Key/values of a running batch. `used` columns are filled; `positions` (rows, capacity): a column's
    position in its row's text, negative where the column does not belong to the row."""

    def __init__(self, layout: KvLayout, positions: Tensor, used: int) -> None:
        super().__init__(layers=[])
        self.layout = layout
        self.positions = positions
        self.used = used
        self.planes = [self._new_plane(plane, *positions.shape) for plane in range(len(layout.shapes))]
        self._find_views()

    def _new_plane(self, plane: int, rows: int, capacity: int) -> Tensor:
        heads, width = self.layout.shapes[plane]
        shape = (self.layout.sizes[plane], rows, heads, capacity, width)
        # Zeros, not empty: a masked column still enters the sum with weight 0, and 0 * NaN is NaN.
        return torch.zeros(shape, dtype=self.layout.dtype, device=self.layout.device)

    def _find_views(self) -> None:
        self.views = {
            layer: (self.planes[key[0]][key[1]], self.planes[value[0]][value[1]])
            for layer, (key, value) in self.layout.places.items()
        }

    @property
    def rows(self) -> int:
        return self.positions.shape[0]

    @property
    def capacity(self) -> int:
        return self.positions.shape[1]

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        """Called by the model's attention: writes the new columns, returns all columns."""
        keys, values = self.views[layer_idx]
        end = self.used + key_states.shape[2]
        keys[:, :, self.used : end] = key_states
        values[:, :, self.used : end] = value_states
        return keys[:, :, :end], values[:, :, :end]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self.used

    def get_query_offset(self, layer_idx: int = 0) -> int:
        return self.used

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        return self.used + query_length, 0

    def load(self, row: int, part: RowKv, end: int) -> None:
        """Write a row's tokens so that they end before column `end`."""
        for plane, source in zip(self.planes, part.planes, strict=True):
            plane[:, row, :, end - part.length : end] = source

    def take(self, row: int, start: int, end: int) -> RowKv:
        """Copy of a row's columns from `start` to `end` (exclusive)."""
        return RowKv([plane[:, row, :, start:end].clone() for plane in self.planes])


class RunningKv(BatchKv):
    """Key/values of a decoding batch, which rows join and leave: every row's last token is in the last used column.
    `lengths` (rows,): tokens of each row."""

    def __init__(self, layout: KvLayout, lengths: NDArray[np.int64], spare: int) -> None:
        """Zeros for rows of `lengths` tokens, with room for `spare` more."""
        used = int(lengths.max(initial=0))
        positions = np.arange(used + spare)[None] - (used - lengths)[:, None]
        super().__init__(layout, torch.from_numpy(positions).to(layout.device), used)
        self.lengths = lengths

    @classmethod
    def empty(cls, layout: KvLayout) -> RunningKv:
        """A batch without rows."""
        return cls(layout, np.zeros(0, dtype=np.int64), 0)

    def advance(self) -> None:
        """Count the column that a pass has written."""
        self.used += 1
        self.lengths += 1

    def with_rows(self, joining: Sequence[Sequence[RowKv]], spare: int) -> RunningKv:
        """A batch of these rows and more, each given as consecutive pieces, with room for `spare` more tokens. Columns
        of rows that have left are dropped."""
        new = [sum(piece.length for piece in pieces) for pieces in joining]
        batch = RunningKv(self.layout, np.concatenate([self.lengths, np.array(new, dtype=np.int64)]), spare)
        kept = int(self.lengths.max(initial=0))
        for target, source in zip(batch.planes, self.planes, strict=True):
            target[:, : self.rows, :, batch.used - kept : batch.used] = source[
                :, :, :, self.used - kept : self.used
            ]
        for row, pieces in enumerate(joining, self.rows):
            end = batch.used
            for piece in reversed(pieces):
                batch.load(row, piece, end)
                end -= piece.length
        return batch

    def leave(self, needed: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Drop the rows that are not `needed` (rows,): the last rows move into their places. Returns the old number of
        each row."""
        remaining = int(needed.sum())
        order = np.arange(len(needed))
        holes = np.flatnonzero(~needed[:remaining])
        movers = remaining + np.flatnonzero(needed[remaining:])
        for hole, mover in zip(holes.tolist(), movers.tolist(), strict=True):
            self._move(mover, hole)
            order[hole] = mover
        self.positions = self.positions[:remaining]
        self.lengths = self.lengths[order[:remaining]]
        self.planes = [plane[:, :remaining] for plane in self.planes]
        self._find_views()
        return order[:remaining]

    def _move(self, source: int, target: int) -> None:
        self.positions[target] = self.positions[source]
        for plane in self.planes:
            plane[:, target, :, : self.used] = plane[:, source, :, : self.used]
