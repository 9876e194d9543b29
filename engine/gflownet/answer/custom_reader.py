"""A custom reader: `answer.reader` as `module:Class`. Where it fails, the stage ends, as it does where a
reader's server fails; finished answers are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.custom_class import Method, Role, WrongResult
from engine.errors import SteerError
from engine.gflownet.evaluation.path_prompt import EvidencePrompt, rough_tokens
from engine.run.gate import StopRequested


def _texts(
    returned: Any, name: str, prompts: Sequence[EvidencePrompt], checkpoint: Callable[[], None]
) -> list[str]:
    """`read(prompts: list[EvidencePrompt], checkpoint)` returns a text for each prompt: names, a line each. It may call
    `checkpoint()` between two of them."""
    if not isinstance(returned, list | tuple) or not all(isinstance(text, str) for text in returned):
        raise WrongResult.of(returned, "a list of texts")
    if len(returned) != len(prompts):
        raise WrongResult(f"it returned {len(returned)} texts for {len(prompts)} prompts")
    return list(returned)


def _tokens(returned: Any, name: str, text: str) -> int:
    """`count_tokens(text)`, which may be left out, returns a whole number; without it words and signs are counted."""
    if not isinstance(returned, int) or isinstance(returned, bool) or returned < 0:
        raise WrongResult.of(returned, "a whole number from 0 on")
    return returned


_PASSED = (SteerError, StopRequested)
"""The second comes from `checkpoint`."""
READER = Role(
    "answer.reader",
    (
        Method("read", ("prompts", "checkpoint"), _texts, passed=_PASSED),
        Method("count_tokens", ("text",), _tokens, passed=_PASSED, default=rough_tokens),
    ),
)
