"""What has room in a model's context."""

from __future__ import annotations

import pytest

from engine.errors import ModelError
from engine.lm.context import check_prompt, within_context
from engine.lm.protocol import ModelInfo, Sampling
from tests.exactly import exactly


def info(context: int) -> ModelInfo:
    return ModelInfo("tiny", "test", "cpu", "float32", 1, 1, 1, 1, fingerprint="", context=context)


def test_a_prompt_leaves_room_for_one_token() -> None:
    check_prompt(11, info(12))
    text = (
        "a prompt of 12 tokens leaves no room in a context of 12 (tiny): shorten the prompt, or take a model with a "
        "longer context"
    )
    with pytest.raises(ModelError, match=exactly(text)):
        check_prompt(12, info(12))
    check_prompt(10**6, info(0))  # a model that tells of none


@pytest.mark.parametrize(
    ("context", "budget", "left"), [(12, 8, 3), (12, 3, 3), (12, 2, 2), (12, 4, 3), (9, 5, 0), (0, 8, 8)]
)
def test_a_budget_is_what_the_context_leaves(context: int, budget: int, left: int) -> None:
    sampling = Sampling(budget, 0.5, "stop")
    assert within_context(sampling, 9, info(context)) == Sampling(left, 0.5, "stop")
