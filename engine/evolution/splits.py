"""The splits of the evolution: which questions are answered, and under which deltas."""

from __future__ import annotations

MINIBATCH, VALIDATION, BASELINE = "minibatch", "validation", "baseline"
TEST, TEST_PLAIN, TEST_BRIEF = "test", "test_plain", "test_brief"
"""The test set under the best deltas, without any processor, and without processor after the best request for short
answers: asked once, at the end."""
ON_TEST = (TEST, TEST_PLAIN, TEST_BRIEF)
UNCHANGED = (BASELINE, TEST_PLAIN)
"""Splits that the unchanged model answers."""
UNDER_DELTAS = (MINIBATCH, VALIDATION, TEST)
"""Every other split is answered without deltas, and belongs to no iteration."""


def brief_split(number: int) -> str:
    """The validation set without processor, after request `number` (from 0) for short answers."""
    return f"brief_{number + 1}"
