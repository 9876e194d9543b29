"""The split of a generated text, decided by the text itself, so that splits can never overlap."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from typing import Any, Literal, TypeVar

Split = Literal["train", "dev", "test"]
ItemT = TypeVar("ItemT", bound=Any)
SPLITS: tuple[Split, ...] = ("train", "dev", "test")


def text_digest(text: str) -> str:
    """SHA-256 of `text` in UTF-8, as 64 hex digits."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def split_of(text: str) -> Split:
    """Train for 80 of 100 texts, dev and test for 10 each."""
    slot = int(text_digest(text)[:8], 16) % 100
    if slot < 80:
        return "train"
    return "dev" if slot < 90 else "test"


def drawn(draw: Callable[[random.Random], ItemT], split: Split, n: int, rng: random.Random) -> list[ItemT]:
    """The first `n` different items (by `id`) that are drawn of `split`: a prefix of those for a larger n."""
    items: dict[str, ItemT] = {}
    while len(items) < n:
        if (item := draw(rng)).split == split:
            items.setdefault(item.id, item)
    return list(items.values())
