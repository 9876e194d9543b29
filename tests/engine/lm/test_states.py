"""The residual stream of whole sequences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.lm.protocol import Request, Sampling, Working
from engine.lm.transformers.model import TransformersModel
from tests.engine.lm.conftest import Pair
from tests.engine.lm.test_generate import only
from tests.tiny_models import ARCHITECTURES


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_batched_equals_one_pass_a_position(pair: Callable[[str], Pair], architecture: str) -> None:
    model, literal = pair(architecture)
    rng = np.random.default_rng(0)
    small = TransformersModel(model.network, model.tokenizer, model.info, max_num_seqs=2)
    sequences = [rng.integers(0, model.info.vocab_size, length).tolist() for length in (3, 30, 1, 17, 29)]
    positions = [[2, 0, 2], [29, 5], [0], [], [28]]
    expected = literal.states(sequences, positions, [2, 0])
    for fast in (model, small):
        found = fast.states(sequences, positions, [2, 0])
        assert [part.shape for part in found] == [(3, 2, 32), (2, 2, 32), (1, 2, 32), (0, 2, 32), (1, 2, 32)]
        assert found[0].dtype == np.float32
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs.reshape(ours.shape), atol=1e-4)


def test_layer_numbering(pair: Callable[[str], Pair]) -> None:
    """Layer l is what the library calls hidden state l + 1, but the last one before the final norm."""
    model, _ = pair("qwen2")
    tokens = [3, 1, 4, 1, 5]
    with torch.no_grad():
        theirs = model.network.model(
            input_ids=torch.tensor([tokens]), output_hidden_states=True
        ).hidden_states
    (found,) = model.states([tokens], [[4]], [0, 1, 2])
    for layer in (0, 1):
        np.testing.assert_allclose(found[0, layer], theirs[layer + 1][0, 4].numpy(), atol=1e-5)
    normed = model.network.model.model.norm(torch.from_numpy(found[0, 2]).double())
    np.testing.assert_allclose(normed.detach().numpy(), theirs[3][0, 4].numpy(), atol=1e-4)


def test_states_of_a_model_in_bfloat16_are_float32(folder: Callable[[str], Path]) -> None:
    """Wherever they are read: of whole texts, of open prefixes, and while a text is written."""
    model, exact = (
        TransformersModel.load(str(folder("qwen2")), device="cpu", dtype=dtype)
        for dtype in ("bfloat16", "float32")
    )
    tokens, layers = [3, 1, 4, 1, 5], (2, 0)
    ends, model.tokenizer.eos_token_ids = model.tokenizer.eos_token_ids, frozenset()
    (written,) = model.generate(
        [Request(tokens[:-1], Sampling(1), capture_layers=layers, capture_after=model.tokenizer.decode([5]))],
        logits_processor=only(5),
    )
    model.tokenizer.eos_token_ids = ends
    (expected,) = exact.states([tokens], [[-1]], layers)
    assert written.states is not None
    for found in (
        written.states,
        model.open([tokens]).states([0], layers),
        model.states([tokens], [[4]], layers)[0],
    ):
        assert (found.dtype, found.shape) == (np.float32, expected.shape)
        assert np.linalg.norm(found - expected) < 0.03 * np.linalg.norm(expected)


def test_of_no_layer_there_is_no_state(pair: Callable[[str], Pair]) -> None:
    """Of whole texts and of open prefixes, also where there are none of these: the shape says how many."""
    model, _ = pair("qwen2")
    (found,) = model.states([[1, 2]], [[0, 1]], [])
    prefixes = model.open([[1, 2]])
    assert (found.shape, prefixes.states([0], []).shape) == ((2, 0, 32), (1, 0, 32))
    assert (model.states([], [], [1]), prefixes.states([], [1, 0]).shape) == ([], (0, 2, 32))


def test_all_passes_of_a_call_have_one_mark(
    pair: Callable[[str], Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By it a report knows how long the call is at work."""
    model, _ = pair("qwen2")
    one_a_pass = TransformersModel(model.network, model.tokenizer, model.info, max_num_seqs=1)
    passes: list[tuple[object, Working]] = []
    one_a_pass.between = lambda mark, working: passes.append((mark, working()))
    one_a_pass.states([[1, 2], [3], [], [4]], [[0], [0], [], [0]], [0])
    assert passes == [(passes[0][0], Working(3, 0, 0, ""))] * 3
    passes.clear()
    monkeypatch.setattr("engine.lm.transformers.network.WINDOW", 2)
    one_a_pass.score([1, 2, 3, 4, 5], 1)
    assert passes == [(passes[0][0], Working(1, 0, 0, ""))] * 2


def test_a_pass_takes_no_more_tokens_than_it_may(
    pair: Callable[[str], Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of three tokens go into the first, of texts and of prefixes alike."""
    plain, _ = pair("qwen2")
    model, passes = TransformersModel(plain.network, plain.tokenizer, plain.info), list[object]()
    model.between = lambda mark, working: passes.append(mark)
    monkeypatch.setattr(plain.network, "pass_tokens", 2)
    model.states([[1], [2], [3]], [[0]] * 3, [0])
    assert len(passes) == 2
    model.open([[1], [2], [3]]).states([0, 1, 2], [0])
    assert len(passes) == 4


def test_bad_positions_and_layers(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("qwen2")
    with pytest.raises(ValueError, match="position 2 in a sequence of 2"):
        model.states([[1, 2]], [[2]], [0])
    with pytest.raises(ValueError, match="layer 3"):
        model.states([[1, 2]], [[1]], [3])
