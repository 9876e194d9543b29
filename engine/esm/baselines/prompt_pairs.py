"""Vectors from pairs of prompts instead of mined rollouts: CAA's mean difference (Rimsky et al. 2024), and the first
principal component of the differences (as in representation engineering, Zou et al. 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.errors import DataError
from engine.files import converted
from engine.lm.protocol import LanguageModel, Vector
from engine.tasks.records import read_records

_HINT = 'write {"positive": "…", "negative": "…"}, and "prompt" where both are answers to one'
_Text = Annotated[str, msgspec.Meta(min_length=1)]


class PromptPair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two texts that differ in what is to be steered: both plain, or both the beginning of an answer to `prompt`."""

    positive: _Text
    negative: _Text
    prompt: str | None = None


def read_pairs(path: Path) -> list[PromptPair]:
    """The pairs of a file, an object a line. Raises DataError with file and line."""
    pairs = [_pair(where, record) for where, record in read_records(path)]
    if not pairs:
        raise DataError(what="the file holds no pairs", where=str(path), hint="write a pair a line")
    return pairs


def _pair(where: str, record: dict[str, Any]) -> PromptPair:
    pair = converted(record, PromptPair, where, _HINT)
    if pair.positive == pair.negative:
        raise DataError(what="`positive` and `negative` are the same text", where=where, hint=_HINT)
    return pair


def differences(
    model: LanguageModel, pairs: Sequence[PromptPair], layer: int, system: str | None = None
) -> NDArray[np.float64]:
    """State of the positive minus that of the negative, each at its last token: (pairs, hidden_size)."""
    sequences = [
        state_tokens(model, pair.prompt, text, system)
        for pair in pairs
        for text in (pair.positive, pair.negative)
    ]
    states = model.states(sequences, [[len(sequence) - 1] for sequence in sequences], [layer])
    last = np.stack([state[0, 0] for state in states]).astype(np.float64)
    return last[::2] - last[1::2]


def state_tokens(model: LanguageModel, prompt: str | None, text: str, system: str | None = None) -> list[int]:
    """Of a plain text, or of the beginning of an answer to `prompt`."""
    if prompt is None:
        return model.tokenizer.encode(text)
    return [*model.tokenizer.encode_chat(prompt, system), *model.tokenizer.encode(text)]


def mean_difference(deltas: NDArray[np.float64]) -> Vector:
    """From negative to positive on average. Raises DataError where the pairs differ in nothing."""
    mean = deltas.mean(axis=0)
    if not np.linalg.norm(mean) > 0:
        raise DataError(
            what="positive and negative texts have the same states on average",
            where="eval.contrast.path",
            hint="take pairs whose last tokens come after what differs",
        )
    return mean.astype(np.float32)


def principal_difference(deltas: NDArray[np.float64]) -> Vector:
    """The direction in which differences are longest, about the origin, so that their common part counts (with the
    mean taken out of them, the very direction that is looked for would be gone). It points to the positive side and is
    as long as the mean difference, so that one strength means the same for both."""
    mean = mean_difference(deltas)
    direction = np.linalg.svd(deltas, full_matrices=False)[2][0]
    side = 1.0 if (deltas @ direction).mean() >= 0 else -1.0
    return (side * float(np.linalg.norm(mean)) * direction).astype(np.float32)
