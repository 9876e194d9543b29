"""Compare continuations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.lm.protocol import Completion, LogitsProcessor, Request
from tests.literal_model import LiteralModel


def assert_same(
    found: Sequence[Completion], expected: Sequence[Completion], logprobs: float = 1e-5, states: float = 1e-4
) -> None:
    """Everything a caller may look at is equal; how far log-probabilities (nats) and states may be rounded."""
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.tokens, ours.ended, ours.text) == (theirs.tokens, theirs.ended, theirs.text)
        assert ours.state_ends == theirs.state_ends
        np.testing.assert_allclose(ours.logprobs, theirs.logprobs, atol=logprobs)
        assert (ours.states is None) == (theirs.states is None)
        if ours.states is not None and theirs.states is not None:
            np.testing.assert_allclose(ours.states, theirs.states, atol=states, rtol=1e-5)


def assert_literal(
    found: Sequence[Completion],
    literal: LiteralModel,
    requests: Sequence[Request],
    logits_processor: LogitsProcessor | None = None,
) -> None:
    """What was found for the requests is what the literal model writes; for speed, it is given that as its guesses."""
    literal.guesses = [[*asked.prompt, *one.tokens] for asked, one in zip(requests, found, strict=True)]
    assert_same(found, literal.generate(requests, logits_processor=logits_processor))
