"""The two clusters that never go through k-means: end of text, and numbers (spec Evolution 2.5)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

SYMBOLS = frozenset("+-*/$%=.,")


def eos_tokens(eos: Collection[int], vocab_size: int) -> list[int]:
    """Cluster 0: the ids that end a text."""
    return sorted(token for token in eos if 0 <= token < vocab_size)


def number_tokens(texts: Sequence[str]) -> list[int]:
    """Cluster 1: tokens of digits, of digits and symbols (`$5`, `1,000`), or of one symbol alone, whatever
    white space is around. A run of symbols without a digit (`---`, `...`) is layout, not arithmetic."""
    return [token for token, text in enumerate(texts) if is_number(text)]


def is_number(text: str) -> bool:
    """Whether a decoded token belongs to cluster 1."""
    core = text.strip()
    if not all(character.isdecimal() or character in SYMBOLS for character in core):
        return False
    return len(core) == 1 or any(character.isdecimal() for character in core)
