"""Delimiters split over tokens, merged into larger ones, or made of half characters."""

from __future__ import annotations

import numpy as np
import pytest

from engine.lm.occurrences import Occurrences
from engine.lm.tokenizer import HfTokenizer
from tests.tiny_models import TEXT, tiny_tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> HfTokenizer:
    return HfTokenizer(tiny_tokenizer())


@pytest.mark.parametrize("needle", ["\n\n", ".", "\n", "é", "déjà", "2 + ", " "])
def test_no_completing_token_is_missed(tokenizer: HfTokenizer, needle: str) -> None:
    occurrences = Occurrences(tokenizer, needle, 400)
    for text in TEXT[:3]:
        for tokens in (tokenizer.encode(text), single_bytes(tokenizer, text)):
            assert tokenizer.decode(tokens) == text
            may = occurrences.may_complete(np.array(tokens))
            counts = [occurrences.count(tokens[:end]) for end in range(len(tokens) + 1)]
            for end in range(len(tokens)):
                assert may[end] or counts[end + 1] == counts[end]
            first = next((end for end, count in enumerate(counts) if count), None)
            assert occurrences.first_end(tokens) == first


def single_bytes(tokenizer: HfTokenizer, text: str) -> list[int]:
    """The text with nothing merged: one token a byte."""
    alphabet = {}
    for token in range(2, 258):
        piece = tokenizer.decode([token])
        if len(piece) == 1 and piece.isascii():
            alphabet[piece.encode()] = token
    return [
        token
        for character in text
        for token in ([alphabet[character.encode()]] if character.isascii() else tokenizer.encode(character))
    ]


def test_occurrences_do_not_overlap(tokenizer: HfTokenizer) -> None:
    occurrences = Occurrences(tokenizer, "\n\n", 400)
    tokens = single_bytes(tokenizer, "a\n\n\n\n\nb")
    assert [occurrences.count(tokens[:end]) for end in range(len(tokens) + 1)] == [0, 0, 0, 1, 1, 2, 2, 2]


def test_a_merged_token_completes_it(tokenizer: HfTokenizer) -> None:
    tokens = tokenizer.encode(".\n\n")
    assert len(tokens) < 3, "the test's tokenizer merges it"
    assert Occurrences(tokenizer, "\n\n", 400).first_end(tokens) == len(tokens)


def test_an_empty_string_is_refused(tokenizer: HfTokenizer) -> None:
    with pytest.raises(ValueError, match="empty string"):
        Occurrences(tokenizer, "", 400)
