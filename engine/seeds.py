"""Random draws that depend on what they are for, never on when they happen."""

from __future__ import annotations

import hashlib

import numpy as np


def derive_seed(run_seed: int, stage: str, item: str, draw: int = 0) -> int:
    """A 63-bit seed for draw number `draw` of `item` in `stage`: batching and resuming cannot change it."""
    key = "\x1f".join((str(run_seed), stage, item, str(draw)))
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big") >> 1


def generator(run_seed: int, stage: str, item: str, draw: int = 0) -> np.random.Generator:
    """A numpy generator with a derived seed."""
    return np.random.Generator(np.random.Philox(derive_seed(run_seed, stage, item, draw)))


def epoch_items(run_seed: int, stage: str, count: int, size: int, step: int) -> list[int]:
    """The numbers of a training step's `size` items, all of them where `count` is smaller: each item comes once an
    epoch, in an order drawn for the epoch."""
    size = min(size, count)
    places = [divmod(place, count) for place in range(step * size, (step + 1) * size)]
    orders = {
        epoch: generator(run_seed, stage, "order", epoch).permutation(count)
        for epoch in {epoch for epoch, _ in places}
    }
    return [int(orders[epoch][offset]) for epoch, offset in places]
