"""A text whose key/values are computed once, for all that continue it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from engine.lm.transformers.batching import similar_lengths
from engine.lm.transformers.network import Network, Prefilled


@dataclass
class PrefixRow:
    """One prefix. `ran`: its last pass, which covers all tokens, or all before `pending`."""

    last_token: int
    pending: list[int]
    ran: Prefilled | None = None
    version: object = field(default_factory=object)
    """Replaced when the prefix grows: key/values kept from an earlier version do not fit."""


def run_pending(
    network: Network, rows: Sequence[PrefixRow], max_rows: int, between: Callable[[], None] = lambda: None
) -> None:
    """Run the pending tokens of rows, unsteered, rows of similar pending length in one pass. `between` is called before
    each pass."""
    waiting = list({id(row): row for row in rows if row.pending}.values())
    lengths = [len(row.pending) for row in waiting]
    for group in similar_lengths(lengths, max_rows, network.pass_tokens):
        between()
        batch = [waiting[index] for index in group]
        cached = [None if row.ran is None else row.ran.kv for row in batch]
        for row, ran in zip(batch, network.prefill([row.pending for row in batch], cached), strict=True):
            row.ran = ran
            row.pending = []
