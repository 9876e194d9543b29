"""Which token of a continuation completes an occurrence of a string in its text.

A delimiter may be one token, several, or part of a longer token. Texts are compared, not ids; decoding is kept
rare: only tokens that hold the string's last character are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.lm.protocol import Tokenizer

_BROKEN = "\ufffd"
"""What decoders write for bytes that do not form a whole character yet."""


class Occurrences:
    """Segments that `needle` ends. A token that completes `needle` ends one segment, however many occurrences its text
    holds, and the next segment's text begins with the next token: the same cuts whether a text is read as a whole or
    decoded segment by segment."""

    def __init__(self, tokenizer: Tokenizer, vocab_size: int, needle: str) -> None:
        if not needle:
            raise ValueError("an empty string occurs everywhere: give at least one character")
        self.needle = needle
        self._tokenizer = tokenizer
        self._known = np.full(vocab_size, -1, dtype=np.int8)
        self._anchor = tokenizer.encode("a")[-1:]
        self._anchor_text = tokenizer.decode(self._anchor)

    def may_complete(self, tokens: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each token could be the last of an occurrence. False is certain."""
        known = self._known[tokens]
        if (known < 0).any():
            for token in set(tokens[known < 0].tolist()):
                self._known[token] = self._holds_last_character(token)
            known = self._known[tokens]
        return known > 0

    def _holds_last_character(self, token: int) -> bool:
        # Decoded after another token: some tokenizers drop the space at the start of a text.
        text = self._tokenizer.decode([*self._anchor, token])
        piece = text.removeprefix(self._anchor_text)
        return self.needle[-1] in piece or (not self.needle.isascii() and _BROKEN in piece)

    def ends_segment(self, tokens: Sequence[int]) -> bool:
        """Whether the text of tokens, which begin where the segment began, holds the string."""
        return self.needle in self._tokenizer.decode(tokens)

    def segment_ends(self, tokens: Sequence[int]) -> list[int]:
        """Number of tokens up to the end of each segment; what follows the last one is not ended."""
        ends: list[int] = []
        for index in np.flatnonzero(self.may_complete(np.asarray(tokens, dtype=np.int64))).tolist():
            if self.ends_segment(tokens[ends[-1] if ends else 0 : index + 1]):
                ends.append(index + 1)
        return ends

    def first_end(self, tokens: Sequence[int]) -> int | None:
        """Number of tokens up to the end of the first segment, None where none ends."""
        return next(iter(self.segment_ends(tokens)), None)
