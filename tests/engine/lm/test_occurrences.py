"""Delimiters split over tokens, merged into larger ones, or made of half characters."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

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
    occurrences = Occurrences(tokenizer, 400, needle)
    for text in TEXT[:3]:
        for tokens in (tokenizer.encode(text), single_bytes(tokenizer, text)):
            assert tokenizer.decode(tokens) == text
            may = occurrences.may_complete(np.array(tokens))
            begin, ends = 0, []
            for end in range(1, len(tokens) + 1):
                if needle in tokenizer.decode(tokens[begin:end]):
                    assert may[end - 1]
                    ends.append(begin := end)
            assert occurrences.segment_ends(tokens) == ends
            assert occurrences.first_end(tokens) == (ends[0] if ends else None)


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
    tokens = single_bytes(tokenizer, "a\n\n\n\n\nb")
    assert Occurrences(tokenizer, 400, "\n\n").segment_ends(tokens) == [3, 5]


def test_a_token_that_holds_two_ends_one_segment(tokenizer: HfTokenizer) -> None:
    blank_line = tokenizer.encode("\n\n")
    assert len(blank_line) == 1, "the test's tokenizer merges it"
    tokens = [*tokenizer.encode("a"), *blank_line, *tokenizer.encode("b"), *blank_line]
    assert Occurrences(tokenizer, 400, "\n").segment_ends(tokens) == [2, 4]


def test_what_a_token_holds_behind_a_delimiter_is_not_the_next_segments(tokenizer: HfTokenizer) -> None:
    """Decoded segment by segment, the next text begins with the next token."""
    blank_line, newline = tokenizer.encode("\n\n"), single_bytes(tokenizer, "\n")
    tokens = [*newline, *blank_line, *newline]
    assert Occurrences(tokenizer, 400, "\n\n").segment_ends(tokens) == [2]


def test_a_merged_token_completes_it(tokenizer: HfTokenizer) -> None:
    tokens = tokenizer.encode(".\n\n")
    assert len(tokens) < 3, "the test's tokenizer merges it"
    assert Occurrences(tokenizer, 400, "\n\n").first_end(tokens) == len(tokens)


def test_an_empty_string_is_refused(tokenizer: HfTokenizer) -> None:
    with pytest.raises(ValueError, match="empty string"):
        Occurrences(tokenizer, 400, "")


def test_the_last_byte_of_a_character_completes_it() -> None:
    """A token a byte: `。` has three, and `a` a single one, behind which nothing is looked at for `.`."""
    by_byte: Any = SimpleNamespace(
        encode=lambda text: list(text.encode()), decode=lambda tokens: bytes(tokens).decode(errors="replace")
    )
    tokens = [*"a。b。".encode()]
    full_stop = Occurrences(by_byte, 256, "。")
    assert full_stop.may_complete(np.array(tokens)).tolist() == [False, *[True] * 3, False, *[True] * 3]
    assert full_stop.segment_ends(tokens) == [4, 8] and full_stop.first_end(tokens) == 4
    assert not Occurrences(by_byte, 256, ".").may_complete(np.array(tokens)).any()
