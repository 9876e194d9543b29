"""The two clusters that never go through k-means: end of text, and numbers (spec Evolution 2.5)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

Numbers = Literal["arithmetic", "written"]
"""Which tokens are numbers: `arithmetic`, the document's digits and symbols with spaces around them; `written`: also
those that numbers are written with, and line ends around all of them."""
SYMBOLS = {"arithmetic": "+-*/$%=", "written": "+-*/$%=.,"}


def eos_tokens(eos: Collection[int], vocab_size: int) -> list[int]:
    """Cluster 0: the ids that end a text."""
    return sorted(token for token in eos if 0 <= token < vocab_size)


def number_tokens(texts: Sequence[str], numbers: Numbers) -> list[int]:
    """Cluster 1: tokens of digits, of digits and symbols (`$5`), or of one symbol alone. A run of symbols without a
    digit (`---`) is layout, not arithmetic."""
    return [token for token, text in enumerate(texts) if is_number(text, numbers)]


def is_number(text: str, numbers: Numbers) -> bool:
    """Whether a decoded token belongs to cluster 1."""
    core = text.strip() if numbers == "written" else text.strip(" ")
    if not all(character.isdecimal() or character in SYMBOLS[numbers] for character in core):
        return False
    return len(core) == 1 or any(character.isdecimal() for character in core)
