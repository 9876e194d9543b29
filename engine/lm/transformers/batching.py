"""Split work into device batches that waste little on padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

MAX_TOKENS = 16384
"""Most tokens, padding included, in one prefill pass: bounds the memory of its activations."""


def similar_lengths(
    lengths: Sequence[int], max_rows: int, max_tokens: int = MAX_TOKENS
) -> Iterator[list[int]]:
    """Indices in groups of similar length, shortest first; ties in order.

    A new group begins where padding the shortest sequence would cost more than another pass."""
    group: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        length = lengths[index]
        if group and (
            len(group) >= max_rows
            or (len(group) + 1) * length > max_tokens
            or length > 1.5 * lengths[group[0]] + 8
        ):
            yield group
            group = []
        group.append(index)
    if group:
        yield group
