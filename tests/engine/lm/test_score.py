"""How likely given tokens are: against the log-softmax of one pass over the whole text."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from engine.errors import ModelError
from engine.lm.protocol import Request, Sampling, ScoringModel
from engine.lm.transformers import network
from engine.lm.transformers.model import TransformersModel
from tests.engine.lm.conftest import Pair

TOKENS = [5, 9, 3, 3, 17, 8, 30, 2, 11, 6, 21]


def literal(model: Any, tokens: list[int]) -> torch.Tensor:
    with torch.inference_mode():
        logits = model.network.model(input_ids=torch.tensor([tokens])).logits[0]
    return torch.log_softmax(logits.double(), dim=-1)


@pytest.mark.parametrize("architecture", ["qwen2", "gemma2"])
@pytest.mark.parametrize("window", [1, 3, 5, 100])
def test_every_token_after_the_first(
    pair: Callable[[str], Pair], architecture: str, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _ = pair(architecture)
    assert isinstance(model, ScoringModel)
    monkeypatch.setattr(network, "WINDOW", window)
    expected = literal(model, TOKENS)
    scored = model.score(TOKENS, 3)
    assert [one.token for one in scored] == TOKENS[1:]
    by_hand = [float(expected[place, token]) for place, token in enumerate(TOKENS[1:])]
    np.testing.assert_allclose([one.logprob for one in scored], by_hand, atol=1e-5)
    for place, one in enumerate(scored):
        values, tokens = expected[place].topk(3)
        assert [token for token, _ in one.top] == tokens.tolist()
        np.testing.assert_allclose([logprob for _, logprob in one.top], values.tolist(), atol=1e-5)


def test_log_probabilities_of_a_model_in_bfloat16_are_exact(folder: Callable[[str], Path]) -> None:
    """Of its logits, which are rounded: all tokens together are likely by 1, within the precision of float32."""
    model = TransformersModel.load(str(folder("qwen2")), device="cpu", dtype="bfloat16")
    for scored in model.score(TOKENS, model.info.vocab_size):
        assert sum(math.exp(logprob) for _, logprob in scored.top) == pytest.approx(1, abs=1e-5)
    (written,) = model.generate([Request(TOKENS, Sampling(1))])
    assert written.logprobs == pytest.approx(
        [model.score([*TOKENS, *written.tokens], 1)[-1].top[0][1]], abs=0.05
    )


def test_a_processor_changes_what_is_scored(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("qwen2")

    def only_seventeen(written: Any, logits: Any) -> Any:
        assert [*written] == [()] * len(logits)
        return logits.clone().fill_(0.0).index_fill_(1, torch.tensor([17]), 50.0)

    scored = model.score(TOKENS, 1, only_seventeen)
    assert scored[3].logprob == pytest.approx(0.0, abs=1e-6) and scored[3].top[0][0] == 17
    assert scored[0].logprob == pytest.approx(-50.0) and scored[0].top[0][0] == 17


def test_one_token_has_nothing_before_it_and_a_long_text_no_room(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("qwen2")
    assert model.score([4], 1) == []
    with pytest.raises(ModelError, match="no room"):
        model.score([4] * model.info.context, 1)


def test_a_pause_is_asked_for_between_passes(
    pair: Callable[[str], Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _ = pair("qwen2")
    monkeypatch.setattr(network, "WINDOW", 4)
    asked: list[object] = []
    monkeypatch.setattr(model, "between", lambda mark, working: asked.append(mark))
    model.score(TOKENS, 1)
    assert len(asked) == 3 and len(set(map(id, asked))) == 1
