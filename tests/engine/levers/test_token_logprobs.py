"""How likely tokens in flight were, by hand, over a tokenizer of three tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from engine.levers.token_logprobs import LogprobRecorder, ScoredToken
from engine.lm.protocol import Completion, TokenLogprob

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
