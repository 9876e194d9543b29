"""A model's whole vocabulary as text, an entry for each row of its logits, without loading the weights."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from engine.config.models.model import ModelSection
from engine.lm.loading.load import model_path
from engine.lm.tokenizer import HfTokenizer


@dataclass(frozen=True)
class Vocabulary:
    """`texts[i]`: token i decoded alone (a part of a character reads as U+FFFD), special tokens by name.
    `padding[i]`: row i of the logits stands for no token; its text is empty. `eos`: the ids that end a
    text, of the tokenizer and of the generation settings."""

    texts: list[str]
    padding: NDArray[np.bool_]
    eos: frozenset[int]
    tokenizer: HfTokenizer

    def __len__(self) -> int:
        """Rows of the logits."""
        return len(self.texts)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the vocabulary: it changes with any token, its id, or the number of rows."""
        digest = hashlib.sha256()
        for text, padding in zip(self.texts, self.padding, strict=True):
            digest.update(b"\1" if padding else text.encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()


def load_vocabulary(config: ModelSection) -> Vocabulary:
    """Decode every row of the logits. Raises ModelError for a model whose tokenizer cannot be loaded."""
    from engine.lm.loading.pretrained import load_text_side  # takes seconds to import

    side = load_text_side(model_path(config)[0])
    known = {token for token in side.tokenizer.get_vocab().values() if 0 <= token < side.vocab_size}
    ids = sorted(known)
    decoded = side.tokenizer.batch_decode(
        [[token] for token in ids], skip_special_tokens=False, clean_up_tokenization_spaces=False
    )
    texts = [""] * side.vocab_size
    for token, text in zip(ids, decoded, strict=True):
        texts[token] = text
    padding = np.ones(side.vocab_size, dtype=bool)
    padding[ids] = False
    tokenizer = HfTokenizer(side.tokenizer, side.eos)
    eos = frozenset(token for token in tokenizer.eos_token_ids if 0 <= token < side.vocab_size)
    return Vocabulary(texts, padding, eos, tokenizer)
