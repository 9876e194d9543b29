"""Any decoder-only architecture of the library: our decoding writes what the library's own `generate` writes, in any
company, past the sliding window, and steered as one plain pass a token steers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from engine.lm.loading.pretrained import quiet
from engine.lm.protocol import Request, Sampling, Steer
from engine.lm.transformers.model import TransformersModel
from tests.engine.lm.conftest import Pair, exact_dtype
from tests.engine.lm.same import assert_same
from tests.tiny_models import EXPERTS, USUAL, WINDOW

TOKENS = 3 * WINDOW
LENGTHS = (1, 5, 2 * WINDOW + 5)
ROUNDING = 2e-3
"""In nats: how far log-probabilities of an architecture that runs in float32 may be off."""


def prompts(model: TransformersModel) -> list[list[int]]:
    rng = np.random.default_rng(4)
    return [rng.integers(1, model.info.vocab_size, length).tolist() for length in LENGTHS]


def by_the_library(folder: Path, architecture: str, prompts: Sequence[Sequence[int]]) -> list[list[int]]:
    """The library's greedy continuation of each prompt, by a model that no code of ours has touched, on its literal
    attention: the fused one leaves Gemma 2's cap out."""
    dtype = getattr(torch, exact_dtype(architecture))
    with quiet():
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, attn_implementation="eager"
        )
        return [_library_row(model, prompt) for prompt in prompts]


def _library_row(model: Any, prompt: Sequence[int]) -> list[int]:
    ids = torch.tensor([list(prompt)])
    whole = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=TOKENS)
    return whole[0, len(prompt) :].tolist()


@pytest.mark.parametrize("architecture", USUAL)
def test_greedy_is_the_librarys(
    folder: Callable[[str], Path], pair: Callable[[str], Pair], architecture: str
) -> None:
    model, _ = pair(architecture)
    batch = model.generate([Request(prompt, Sampling(TOKENS)) for prompt in prompts(model)])
    expected = by_the_library(folder(architecture), architecture, prompts(model))
    assert [completion.tokens for completion in batch] == expected
    assert max(map(len, expected)) > WINDOW, "nothing leaves the window"
    assert len({token for tokens in expected for token in tokens}) > 6, (
        "a model that says one token shows nothing"
    )


@pytest.mark.parametrize("architecture", USUAL)
def test_company_changes_nothing(pair: Callable[[str], Pair], architecture: str) -> None:
    model, _ = pair(architecture)
    rounding = ROUNDING if architecture in EXPERTS else 1e-5
    requests = [
        Request(prompt, Sampling(TOKENS, index % 2), seed=index, capture_layers=(0, 2), capture_after="e")
        for index, prompt in enumerate(prompts(model))
    ]
    alone = [model.generate([request])[0] for request in requests]
    assert_same(model.generate(requests), alone, logprobs=rounding, states=max(rounding, 1e-4))


@pytest.mark.parametrize("architecture", USUAL)
def test_steering_is_the_literal_one(pair: Callable[[str], Pair], architecture: str) -> None:
    model, literal = pair(architecture)
    rounding = ROUNDING if architecture in EXPERTS else 1e-5
    vector = np.random.default_rng(9).normal(size=model.info.hidden_size).astype(np.float32)
    requests = [
        Request(prompt, Sampling(TOKENS), steer=Steer(vector, index % model.info.num_layers, 4.0))
        for index, prompt in enumerate(prompts(model))
    ]
    steered = model.generate(requests)
    assert_same(steered, literal.generate(requests), logprobs=rounding)
    plain = model.generate([Request(request.prompt, request.sampling) for request in requests])
    assert [completion.logprobs[0] for completion in steered] != [c.logprobs[0] for c in plain]
    assert any(one.tokens != other.tokens for one, other in zip(steered, plain, strict=True))
