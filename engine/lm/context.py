"""A model's context: beyond the positions that it was trained on, it writes nonsense."""

from __future__ import annotations

from dataclasses import replace

from engine.errors import ModelError
from engine.lm.protocol import ModelInfo, Sampling


def check_prompt(length: int, info: ModelInfo) -> None:
    """Raises ModelError for a prompt of `length` tokens behind which the context has no room."""
    if info.context and length >= info.context:
        raise ModelError(
            what=f"a prompt of {length} tokens leaves no room in a context of {info.context}",
            where=info.name,
            hint="shorten the prompt, or take a model with a longer context",
        )


def within_context(sampling: Sampling, length: int, info: ModelInfo) -> Sampling:
    """`sampling` with the budget that the context leaves behind `length` tokens."""
    room = info.context - length
    if not info.context or sampling.max_tokens <= room:
        return sampling
    return replace(sampling, max_tokens=room)
