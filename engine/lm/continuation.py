"""Continuations that go on from an earlier, kept one: where the new stop string and budget would have ended it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelError
from engine.lm.occurrences import Occurrences
from engine.lm.protocol import Branch, Completion, Sampling, Tokenizer


def check_numbers(logprobs: Sequence[float] | NDArray[np.float32]) -> None:
    """Raises ModelError where log-probabilities of a continuation's tokens are none."""
    wrong = np.isnan(logprobs)
    if wrong.any():
        raise ModelError(
            what="the model's logits are not numbers",
            where=f"after {int(wrong.argmax())} tokens of a continuation",
            hint="use dtype bfloat16 or float32, or a smaller steering scale",
        )


def earlier_end(
    earlier: Completion, sampling: Sampling, find: Callable[[str], Occurrences]
) -> tuple[int, str] | None:
    """How many tokens of `earlier` count under `sampling`, and what ends them (`stop`, `length`); None: all count, and
    it may go on."""
    # The text ends before an end-of-sequence token, so no stop string can be looked for in it.
    text_end = len(earlier.tokens) - (earlier.ended == "eos")
    budget = sampling.max_tokens
    if sampling.stop:
        stopped = find(sampling.stop).first_end(earlier.tokens[: min(text_end, budget)])
        if stopped is not None:
            return stopped, "stop"
    if len(earlier.tokens) > budget or (len(earlier.tokens) == budget and earlier.ended != "eos"):
        return budget, "length"
    return None


def cut(earlier: Completion, count: int, ended: str, tokenizer: Tokenizer, kept: object) -> Completion:
    """The first `count` tokens of `earlier` as a continuation of their own."""
    tokens = earlier.tokens[:count]
    return replace(
        earlier,
        tokens=tokens,
        logprobs=earlier.logprobs[:count],
        text=tokenizer.decode(tokens),
        ended=ended,
        kept=kept,
    )


def is_whole(earlier: Completion, branch: Branch) -> bool:
    """Whether `earlier`, which is cut already, is the whole continuation that `branch` asks for."""
    if earlier.ended == "eos" or len(earlier.tokens) >= branch.sampling.max_tokens:
        return True
    return earlier.ended == "stop" and branch.continue_from is not earlier
