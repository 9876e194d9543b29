"""A vector from stable thoughts only (Zhuang et al. 2026, arXiv 2604.02113): SEAL's contrast, without the many
thoughts that its words find and that are chance: the same model does not write them again from the same beginning.

1. A thought that reflects or changes course (SEAL's words) is kept if at least `STABLE` of `DRAWS` sampled thoughts in
   its place do so, too.
2. Of each answer with a kept thought: the mean state of its executing thoughts minus that of the kept ones; then the
   mean over these answers.
3. What lies in the span of the first `CONTENT` right singular vectors of the questions' states (at the prompt's last
   token) is taken out: it says what the problem is about.

The shares, draws, rank and the length of a sampled thought are the paper's. Ours differs in what differs in `seal.py`:
the texts, their number, the layer and the strength; and thoughts are sampled at the run's temperature for rollouts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.config.esm import FieldSection
from engine.errors import DataError
from engine.esm.baselines.seal import (
    Answered,
    Thoughts,
    executes,
    one_kind_only,
    read_thoughts,
    thought_states,
)
from engine.lm.protocol import LanguageModel, Request, Sampling, Vector
from engine.seeds import derive_seed

DRAWS, STABLE = 10, 0.8
CONTENT = 4
MOST_TOKENS = 128
"""Of a sampled thought."""
_AT_ONCE = 16


def stable_vector(
    model: LanguageModel,
    answered: Sequence[Answered],
    layer: int,
    delimiter: str,
    section: FieldSection,
    sampled: Callable[[Sequence[Sequence[int]]], list[list[str]]],
    system: str | None = None,
) -> Vector:
    """(hidden_size,). `sampled` draws thoughts behind each beginning: `sampled_thoughts`. Raises DataError where no
    answer has both a stable thought that reflects and one that executes."""
    read = [read_thoughts(model, one, delimiter, section, system) for one in answered]
    reflecting = [(one, i) for one in read for i, goes_on in enumerate(one.executing) if not goes_on]
    everything = sum(len(one.executing) for one in read)
    if not reflecting or len(reflecting) == everything:
        raise one_kind_only("stable", len(answered), everything, len(reflecting))
    drawn = sampled([one.tokens[: one.ends[i] + 1] for one, i in reflecting])
    kept = {
        (id(one), i)
        for (one, i), thoughts in zip(reflecting, drawn, strict=True)
        if is_stable(thoughts, section)
    }
    states = thought_states(model, read, layer)
    each = [_difference(one, answer_states, kept) for one, answer_states in zip(read, states, strict=True)]
    differences = [difference for difference in each if difference is not None]
    if not differences:
        raise DataError(
            what=f"of {len(reflecting)} thoughts that reflect or change course {len(kept)} are stable (written again "
            f"by {STABLE:.0%} of {DRAWS} samples), none in an answer that also goes on; `stable` needs one",
            where="eval.field",
            hint="mine more answers (task.train_size, offline_mine.K), name the words by which such thoughts are "
            "known, or leave `stable` out of `eval.field.methods`",
        )
    prompts = list(
        dict.fromkeys(tuple(model.tokenizer.encode_chat(prompt, system)) for prompt, _ in answered)
    )
    return without_content(np.mean(differences, axis=0), _question_states(model, prompts, layer))


def is_stable(thoughts: Sequence[str], section: FieldSection) -> bool:
    """Whether enough of the sampled thoughts reflect or change course."""
    return sum(not executes(thought, section) for thought in thoughts) >= STABLE * len(thoughts)


def without_content(vector: NDArray[np.float64], questions: NDArray[np.float64]) -> Vector:
    """`vector` less its part in the span of the first right singular vectors of `questions` (n, hidden_size)."""
    _, _, right = np.linalg.svd(questions, full_matrices=False)
    content = right[:CONTENT]
    return (vector - content.T @ (content @ vector)).astype(np.float32)


def sampled_thoughts(
    model: LanguageModel, delimiter: str, temperature: float, seed: int
) -> Callable[[Sequence[Sequence[int]]], list[list[str]]]:
    """Draws `DRAWS` thoughts behind each beginning; the draws depend on the seed, its number and nothing else."""
    sampling = Sampling(MOST_TOKENS, temperature, stop=delimiter)

    def draw(beginnings: Sequence[Sequence[int]]) -> list[list[str]]:
        drawn: list[list[str]] = []
        for first in range(0, len(beginnings), _AT_ONCE):
            requests = [
                Request(tuple(beginning), sampling, derive_seed(seed, "stable", str(number), again))
                for number, beginning in enumerate(beginnings[first : first + _AT_ONCE], first)
                for again in range(DRAWS)
            ]
            texts = [completion.text for completion in model.generate(requests)]
            drawn += [texts[i : i + DRAWS] for i in range(0, len(texts), DRAWS)]
        return drawn

    return draw


def _difference(
    read: Thoughts, states: NDArray[np.float32], kept: set[tuple[int, int]]
) -> NDArray[np.float64] | None:
    """What goes on minus what is stable, of one answer; none where it lacks either."""
    goes_on = np.array(read.executing, dtype=bool)
    stable = np.array([(id(read), i) in kept for i in range(len(goes_on))], dtype=bool)
    if not goes_on.any() or not stable.any():
        return None
    wide = states.astype(np.float64)
    return wide[goes_on].mean(axis=0) - wide[stable].mean(axis=0)


def _question_states(
    model: LanguageModel, prompts: Sequence[Sequence[int]], layer: int
) -> NDArray[np.float64]:
    states = model.states(prompts, [[len(prompt) - 1] for prompt in prompts], [layer])
    return np.concatenate([each[:, 0] for each in states]).astype(np.float64)
