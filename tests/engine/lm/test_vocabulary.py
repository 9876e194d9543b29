"""The vocabulary as text, row by row of the logits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.config.models.model import ModelSection
from engine.errors import ModelError
from engine.lm.loading.load import load_model
from engine.lm.protocol import Request, Sampling
from engine.lm.vocabulary import Vocabulary, load_vocabulary
from tests.engine.lm.conftest import Pair
from tests.padded_model import PADDING, save_padded
from tests.tiny_models import EXTRA_EOS, save_tiny


def test_embedded_rows_match_the_loaded_model() -> None:
    section = ModelSection(device="cpu")
    model, vocabulary = load_model(section), load_vocabulary(section)
    assert len(vocabulary) == model.info.vocab_size
    assert vocabulary.eos == model.tokenizer.eos_token_ids
    text = "Tom has 12 apples.\n\n"
    tokens = model.tokenizer.encode(text)
    assert "".join(vocabulary.texts[token] for token in tokens) == text
    assert vocabulary.texts[next(iter(vocabulary.eos))] == "<|im_end|>", "special tokens are shown by name"


def test_padding_rows_have_no_text(tmp_path: Path) -> None:
    """Without them a processor would be shorter than the logits, and end the server."""
    section = ModelSection(backend="transformers", path=str(save_padded(tmp_path)), device="cpu")
    vocabulary = load_vocabulary(section)
    assert len(vocabulary) == load_model(section).info.vocab_size
    assert vocabulary.padding.sum() == PADDING
    assert vocabulary.padding[-PADDING:].all()
    assert vocabulary.texts[-PADDING:] == [""] * PADDING


def test_ends_come_from_generation_settings_too(tmp_path: Path) -> None:
    section = ModelSection(backend="transformers", path=str(save_tiny(tmp_path)))
    assert load_vocabulary(section).eos == {0, *EXTRA_EOS}
    (tmp_path / "generation_config.json").unlink()
    assert load_vocabulary(section).eos == {0}


def test_ends_of_the_configuration_count_beside_those_of_the_generation_settings(tmp_path: Path) -> None:
    section = ModelSection(backend="transformers", path=str(save_tiny(tmp_path)))
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "eos_token_id": 7}))
    assert load_vocabulary(section).eos == {0, 7, *EXTRA_EOS}


def test_fingerprint_tells_rows_apart(tmp_path: Path) -> None:
    plain = load_vocabulary(ModelSection(backend="transformers", path=str(save_tiny(tmp_path / "a", "phi3"))))
    padded = load_vocabulary(ModelSection(backend="transformers", path=str(save_padded(tmp_path / "b"))))
    assert plain.texts == padded.texts[:-PADDING]
    assert plain.fingerprint != padded.fingerprint


def test_missing_model_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such model folder"):
        load_vocabulary(ModelSection(backend="transformers", path=str(tmp_path / "none")))


def test_each_token_and_its_place_are_in_the_fingerprint() -> None:
    """The same letters in other tokens, in another order, with a row more, or a row that stands for nothing."""
    nobody: Any = None

    def fingerprint(texts: list[str], *padding: int) -> str:
        empty = np.array([place in padding for place in range(len(texts))])
        return Vocabulary(texts, empty, frozenset(), nobody).fingerprint

    others = (
        ["ab", "c", ""],
        ["a", "bc", ""],
        ["c", "ab", ""],
        ["ab", "c"],
        ["ab", "", "c"],
        ["abc", "", ""],
    )
    made = [fingerprint(texts) for texts in others] + [fingerprint(["ab", "c", ""], 2)]
    assert len(set(made)) == len(made) == 7
    assert fingerprint(["ab", "c", ""]) == made[0]


def test_ids_beyond_the_rows_of_the_logits_are_no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some tokenizers have more of them than the model was given rows."""
    tokenizer = SimpleNamespace(
        eos_token_id=7, get_vocab=lambda: {"a": 0, "c": 2, "z": 4, "less": -1},
        batch_decode=lambda ids, **settings: ["abcdefgh"[token] for (token,) in ids],
    )  # fmt: skip
    side = SimpleNamespace(tokenizer=tokenizer, eos=frozenset({2, 4, -1}), vocab_size=4)
    monkeypatch.setattr("engine.lm.loading.pretrained.load_text_side", lambda path: side)
    found = load_vocabulary(ModelSection())
    assert found.texts == ["a", "", "c", ""] and found.padding.tolist() == [False, True, False, True]
    assert found.eos == {2} and found.tokenizer.eos_token_ids == {2, 4, -1, 7}


def test_a_text_may_be_ended_by_ids_for_which_the_logits_have_no_row(
    pair: Callable[[str], Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _ = pair("qwen2")
    request = Request([5, 6, 7], Sampling(4))
    (plain,) = model.generate([request])
    size = model.info.vocab_size
    monkeypatch.setattr(model.tokenizer, "eos_token_ids", model.tokenizer.eos_token_ids | {size, size + 9})
    assert model.generate([request]) == [plain]
