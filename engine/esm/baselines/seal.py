"""SEAL's vector (Chen et al. 2025, arXiv 2504.07986): away from thoughts that reflect on what was written or change
course, towards those that go on.

A thought is what stands between two delimiters. Its state is that of the delimiter before it, and its kind is told by
words: `reflection` or `transition` somewhere in it, or at its beginning (`openings`); everything else executes. The
vector is the mean state of executing thoughts minus that of the others, and is added as it is before every segment.

Ours differs in this: the texts are the run's own mined answers, right and wrong ones, not a thousand reasoning traces;
nothing is added before the first segment, nor outside the control points of ESM; layer and strength are the run's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.config.esm import FieldSection
from engine.errors import DataError
from engine.lm.protocol import LanguageModel, Vector

MOST_TEXTS = 1000
"""Answers that are read; SEAL takes about as many problems."""
_AT_ONCE = 32

MinedAnswer = tuple[str, str]
"""The prompt's text, and an answer to it."""


def executes(thought: str, section: FieldSection) -> bool:
    """Whether none of the words says that it reflects or changes course. Capitals count, as in SEAL."""
    begins = thought.strip()
    if any(begins.startswith(word) for word in section.openings):
        return False
    return not any(word in thought for word in (*section.reflection, *section.transition))


@dataclass(frozen=True)
class _Thoughts:
    """One mined answer as the model reads it. `tokens`: the prompt and all thoughts but the last; thought i begins
    after `ends[i]`, the last token of the delimiter before it, and `executing[i]` tells its kind."""

    tokens: list[int]
    ends: list[int]
    executing: list[bool]


def _read_thoughts(
    model: LanguageModel, answered: MinedAnswer, delimiter: str, section: FieldSection, system: str | None
) -> _Thoughts:
    """The thoughts behind the first one."""
    prompt, text = answered
    read = _Thoughts(list(model.tokenizer.encode_chat(prompt, system)), [], [])
    before, *thoughts = text.split(delimiter)
    for thought in thoughts:
        read.tokens.extend(model.tokenizer.encode(before + delimiter))
        read.ends.append(len(read.tokens) - 1)
        read.executing.append(executes(thought, section))
        before = thought
    return read


def _states(model: LanguageModel, read: Sequence[_Thoughts], layer: int) -> NDArray[np.float64]:
    """(thoughts, hidden_size), of all answers: the states of the delimiters before their thoughts."""
    by_answer: list[NDArray[np.float32]] = []
    for first in range(0, len(read), _AT_ONCE):
        part = read[first : first + _AT_ONCE]
        by_answer += model.states([one.tokens for one in part], [one.ends for one in part], [layer])
    return np.concatenate(by_answer)[:, 0].astype(np.float64)


def seal_vector(
    model: LanguageModel,
    answered: Sequence[MinedAnswer],
    layer: int,
    delimiter: str,
    section: FieldSection,
    system: str | None = None,
) -> Vector:
    """(hidden_size,). Raises DataError where one of the two kinds of thoughts does not occur."""
    read = [_read_thoughts(model, one, delimiter, section, system) for one in answered]
    goes_on = np.array([kind for one in read for kind in one.executing], dtype=bool)
    if not goes_on.any() or goes_on.all():
        raise DataError(
            what=f"of {len(goes_on)} thoughts in {len(answered)} mined answers {int((~goes_on).sum())} reflect or "
            "change course; `seal` needs some that do and some that do not",
            where="eval.field",
            hint="name the words with which such thoughts begin in `openings`, or "
            "leave `seal` out of `eval.field.methods`",
        )
    states = _states(model, read, layer)
    return (states[goes_on].mean(axis=0) - states[~goes_on].mean(axis=0)).astype(np.float32)
