"""A continuation that goes on from a kept one: where its own stop and budget would have ended that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from engine.lm.occurrences import Occurrences
from engine.lm.protocol import Branch, Completion, Sampling, Tokenizer


def begun_end(
    begun: Completion, sampling: Sampling, find: Callable[[str], Occurrences]
) -> tuple[int, str] | None:
    """How many of its tokens count and what ends them there; None: all of them, and it may go on."""
    # The text ends before an end-of-sequence token, so no stop string can be looked for in it.
    text_end = len(begun.tokens) - (begun.ended == "eos")
    budget = sampling.max_tokens
    if sampling.stop:
        stopped = find(sampling.stop).first_end(begun.tokens[: min(text_end, budget)])
        if stopped is not None:
            return stopped, "stop"
    if len(begun.tokens) > budget or (len(begun.tokens) == budget and begun.ended != "eos"):
        return budget, "length"
    return None


def cut(begun: Completion, count: int, ended: str, tokenizer: Tokenizer, kept: object) -> Completion:
    """Its first `count` tokens as a continuation of their own."""
    tokens = begun.tokens[:count]
    return replace(
        begun,
        tokens=tokens,
        logprobs=begun.logprobs[:count],
        text=tokenizer.decode(tokens),
        ended=ended,
        kept=kept,
    )


def is_whole(begun: Completion, branch: Branch) -> bool:
    """Whether what was begun, cut already, is the whole continuation of this branch."""
    if begun.ended == "eos" or len(begun.tokens) >= branch.sampling.max_tokens:
        return True
    return begun.ended == "stop" and branch.begun is not begun
