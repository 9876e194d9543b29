"""The split of a generated text, decided by the text itself, so that splits can never overlap."""

from __future__ import annotations

import hashlib
from typing import Literal

Split = Literal["train", "dev", "test"]
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
