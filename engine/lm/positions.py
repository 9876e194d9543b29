"""Positions in a sequence of tokens."""

from __future__ import annotations

from collections.abc import Sequence


def from_front(positions: Sequence[int], length: int) -> list[int]:
    """The positions counted from the front; negative inputs count from the end, as in Python. Raises ValueError."""
    for position in positions:
        if not -length <= position < length:
            raise ValueError(f"position {position} in a sequence of {length} tokens")
    return [position % length for position in positions]
