"""Compare continuations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.lm.protocol import Completion


def assert_same(found: Sequence[Completion], expected: Sequence[Completion]) -> None:
    """Everything a caller may look at is equal, logprobs and states up to rounding."""
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.tokens, ours.ended, ours.text) == (theirs.tokens, theirs.ended, theirs.text)
        assert ours.state_ends == theirs.state_ends
        np.testing.assert_allclose(ours.logprobs, theirs.logprobs, atol=1e-5)
        assert (ours.states is None) == (theirs.states is None)
        if ours.states is not None and theirs.states is not None:
            np.testing.assert_allclose(ours.states, theirs.states, atol=1e-4)
