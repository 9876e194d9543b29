"""How likely tokens in flight were, by hand, over a tokenizer of three tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from engine.levers.token_logprobs import LogprobRecorder, Nucleus, ScoredToken
from engine.lm.protocol import Completion, TokenLogprob
from engine.lm.tokenizer import HfTokenizer

PIECES = ["a", " b", "<name>"]
LOGITS = torch.tensor([[4.0, 3.0, 1.0]]).log()
"""Of 8 parts: token 0 has 4, token 1 has 3, token 2 has 1."""


def recorder(drawn: Any = None, top: int = 1) -> LogprobRecorder:
    """Token 2 is special: it has a name, and no place in a text."""
    tokenizer: Any = SimpleNamespace(
        pieces=lambda tokens: [PIECES[token] for token in tokens],
        decode=lambda tokens: "".join(PIECES[token] for token in tokens if token != 2),
        encode=lambda text: [0],
    )
    return LogprobRecorder(tokenizer, top, None, drawn)


def begun(tokens: list[int]) -> Completion:
    return Completion(tokens, [-1.0] * len(tokens), "", "")


def places(scored: Sequence[ScoredToken]) -> list[tuple[str, int]]:
    return [(token.text, token.offset) for token in scored]


def test_what_follows_a_special_token_begins_where_that_does() -> None:
    noted = recorder()
    for written in ([], [1], [1, 2], [1, 2, 2]):
        noted([written], LOGITS)
    assert places(noted.answer([0], begun([1, 2, 1]), 5)) == [(" b", 5), ("<name>", 7), (" b", 7)]
    noted = recorder()
    for written in ([], [2]):
        noted([written], LOGITS)
    assert places(noted.answer([0], begun([2]), 5)) == [("<name>", 5)]
    assert places(noted.answer([0], begun([2, 1]), 5)) == [("<name>", 5), (" b", 5)]


def test_a_token_that_is_not_among_the_likeliest_has_its_share_of_the_whole() -> None:
    """It was drawn among the first two, of whose 7 parts it has 3: of all 8."""
    noted = recorder(lambda written, logits: logits.index_fill(1, torch.tensor([2]), -torch.inf))
    noted([[]], LOGITS)
    done = Completion([1], [math.log(3 / 7)], " b", "")
    (token,) = noted.answer([0], done, 0)
    assert token.logprob == pytest.approx(math.log(3 / 8))
    assert token.top == [("a", pytest.approx(math.log(4 / 8)))]


def test_of_the_likeliest_tokens_as_many_are_given_as_were_asked_for() -> None:
    """Also of tokens that are scored later, with more of them."""
    scored = [TokenLogprob(1, -0.5, [(1, -0.5), (0, -1.5), (3, -2.5)])]
    for top in (0, 2):
        (token,) = recorder(top=top)._described(0, scored, 0, lambda token, text: len(text))
        assert token.top == [(" b", -0.5), ("a", -1.5)][:top]


def test_part_of_a_character_is_read_again_with_what_completes_it() -> None:
    """Token 1 is the first half of a letter, which token 2 ends; the text before them is read once."""
    asked: list[list[int]] = []

    def pieces(tokens: list[int]) -> list[str]:
        asked.append(tokens)
        texts = {0: "a", 1: "\ufffd", 2: "\ufffd"}
        whole = [texts[token] for token in tokens]
        for at in range(len(tokens) - 1):
            if tokens[at : at + 2] == [1, 2]:
                whole[at : at + 2] = ["", "é"]
        return whole

    decode = {0: "a", 1: "\ufffd", 2: "\ufffd"}
    tokenizer: Any = SimpleNamespace(
        pieces=pieces,
        decode=lambda tokens: "".join(decode[token] for token in tokens),
        encode=lambda text: [0],
    )
    noted = LogprobRecorder(tokenizer, 0, None, None)
    for length in range(4):
        noted([[0] * length], LOGITS)
    found = [places(noted.answer([0], begun(tokens), 3)) for tokens in ([0], [0, 1], [0, 1, 2], [0, 1, 2, 0])]
    assert found == [
        [("a", 3)],
        [("a", 3), ("\ufffd", 4)],
        [("a", 3), ("", 4), ("é", 4)],
        [("a", 3), ("", 4), ("é", 4), ("a", 5)],
    ]
    assert [tokens for tokens in asked if tokens != [0, 0]][:3] == [[0, 0, 1][-2:], [0, 1, 2], [2, 0]]


def test_a_character_of_four_tokens_is_told_with_the_last_one() -> None:
    """The first holds a letter before it, the last one behind it. The library decodes bytes as Python does."""
    parts = [b"a", b"b\xf0", b"\x9f", b"\x98", b"\x80c"]
    library = SimpleNamespace(
        eos_token_id=None, encode=lambda text, add_special_tokens: [0],
        decode=lambda tokens, **settings: b"".join(parts[token] for token in tokens).decode(errors="replace"),
    )  # fmt: skip
    noted = LogprobRecorder(HfTokenizer(library), 0, None, None)
    for length in range(6):
        noted([[0] * length], LOGITS)
    tokens = [0, 1, 2, 3, 4, 0]
    first, half, nothing = ("a", 3), ("b\ufffd", 4), ("", 4)
    assert [places(noted.answer([0], begun(tokens[:count]), 3)) for count in (2, 3, 4, 5, 6)] == [
        [first, half], [first, nothing, half], [first, nothing, nothing, half],
        [first, *[nothing] * 3, ("b😀c", 4)], [first, *[nothing] * 3, ("b😀c", 4), ("a", 7)],
    ]  # fmt: skip


def test_a_segment_that_is_written_anew_takes_the_place_of_what_was_noted() -> None:
    """The first segment ends with token 0; of the second the beginning is written twice."""
    noted = recorder(top=2)
    noted([[]], LOGITS)
    noted.end_segment(Completion([0], [-1.0], "a", "stop"))
    (alone,) = noted.answer([1], None, 7)
    noted([[]], LOGITS.flip(1))
    noted([[]], LOGITS)
    first, second = noted.answer([1], begun([1]), 7)
    assert (first.text, first.offset, first.logprob) == ("a", 7, pytest.approx(math.log(4 / 8)))
    assert (second.text, second.offset, second.logprob) == (" b", 8, pytest.approx(math.log(3 / 8)))
    assert second.top == [("a", pytest.approx(math.log(4 / 8))), (" b", pytest.approx(math.log(3 / 8)))]
    assert alone == first


def test_a_prompt_s_tokens_are_scored_but_the_first() -> None:
    """Before it there is nothing; special tokens have their names in the prompt's text."""
    asked: list[tuple[object, ...]] = []
    scored = [TokenLogprob(2, -0.5, [(0, -0.25)]), TokenLogprob(1, -1.5, [(1, -1.5)])]

    def score(*given: object) -> list[TokenLogprob]:
        asked.append(given)
        return scored

    model: Any = SimpleNamespace(score=score)
    for top, known in ((1, [[("a", -0.25)], [(" b", -1.5)]]), (0, [[], []])):
        noted = recorder(top=top)
        noted.score(model, [0, 2, 1])
        assert noted.prompt == [
            ScoredToken("a", 0, None, []), ScoredToken("<name>", 1, -0.5, known[0]),
            ScoredToken(" b", 7, -1.5, known[1]),
        ]  # fmt: skip
    assert asked == [([0, 2, 1], 1, None)] * 2, "of at least one token"
    under: Any = object()
    LogprobRecorder(noted._tokenizer, 5, under, None).score(model, [0, 2, 1])
    assert asked[2:] == [([0, 2, 1], 5, under)]


def test_what_is_drawn_is_bounded_after_the_deltas() -> None:
    """Of 8 parts, 4 and 3 make up three quarters."""
    under: Any = lambda written, logits: logits.flip(1)  # noqa: E731
    kept = Nucleus(under, 1.0, 0.75)([[]], LOGITS)
    assert kept.exp().round().tolist() == [[0.0, 3.0, 4.0]]
    assert Nucleus(None, 1.0, 0.4)([[]], LOGITS).exp().round().tolist() == [[4.0, 0.0, 0.0]]


def test_the_likeliest_tokens_keep_the_space_that_the_first_of_a_text_loses() -> None:
    """They stand behind a letter, without what the tokenizer puts before it; each is looked at once."""
    asked: list[list[int]] = []

    def pieces(tokens: list[int]) -> list[str]:
        asked.append(tokens)
        first, *rest = (PIECES[token] for token in tokens)
        return [first.removeprefix(" "), *rest]

    noted = recorder(top=2)
    tokenizer: Any = noted._tokenizer
    tokenizer.pieces, tokenizer.encode = pieces, lambda text: [2, 0]
    for written in ([], [1]):
        noted([written], LOGITS)
    one, two = noted.answer([0], begun([1, 1]), 0)
    assert [text for text, _ in one.top] == [text for text, _ in two.top] == ["a", " b"]
    assert asked == [[0, 1, 1], [0, 0], [0, 1]]
