"""What the backend of vLLM does without an engine, where vLLM is not installed either."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.errors import ModelError
from engine.lm.protocol import Completion, Working
from engine.lm.vllm.request_args import RequestArgs
from tests.exactly import exactly

PARTS = {
    "vllm.sampling_params": ("RequestOutputKind", "SamplingParams"),
    "vllm.v1.engine.exceptions": ("EngineDeadError",),
}
OURS = ("driver", "prefixes", "model", "self_check")


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module `engine.lm.vllm.model`, with what it takes of vLLM stood in for."""
    if find_spec("vllm"):
        yield import_module("engine.lm.vllm.model")
        return
    for module, names in PARTS.items():
        classes = {name: type(name, (Exception,), {}) for name in names}
        monkeypatch.setitem(sys.modules, module, SimpleNamespace(**classes))
    yield import_module("engine.lm.vllm.model")
    for name in OURS:
        sys.modules.pop(f"engine.lm.vllm.{name}", None)


def model(backend: Any, context: int = 10) -> Any:
    engine: Any = SimpleNamespace(
        vllm_config=SimpleNamespace(model_config=SimpleNamespace(max_model_len=context))
    )
    tokenizer: Any = SimpleNamespace(decode=lambda tokens: "".join(map(chr, tokens)))
    return backend.VllmModel(engine, SimpleNamespace(), tokenizer, SimpleNamespace(vocab_size=128))


def request(backend: Any, tokens: str = "", max_tokens: int = 3) -> Any:
    return backend.EngineRequest([0], max_tokens, RequestArgs(), tokens=[ord(letter) for letter in tokens])


def test_how_far_a_call_is_and_the_newest_of_its_longest_text(backend: Any) -> None:
    one, seen = model(backend), list[Working]()
    one.between = lambda mark, working: seen.append(working())
    one._driver.between("mark", [request(backend, text) for text in ("ab", "x" * 5 + "y" * 48, "c")], 1)
    assert seen == [Working(sequences=3, done=2, tokens=56, text="y" * 48)]


@pytest.mark.parametrize(("read", "tokens"), [((), 0), ((8,), 1)])
def test_the_last_place_of_the_context_is_left_for_reading(
    backend: Any, read: tuple[int, ...], tokens: int
) -> None:
    args = RequestArgs(capture_positions=read)
    assert model(backend)._new_run([1] * 9, 5, args).max_tokens == tokens
    said = "a prompt of 10 tokens leaves no room in a context of 10 (model.vllm.max_model_len): raise it, or "
    with pytest.raises(ModelError, match=exactly(said + "shorten the prompt")):
        model(backend)._new_run([1] * 10, 5, args)


@pytest.mark.parametrize(
    ("tokens", "through", "ended", "kept"),
    [([1, 2], False, "length", 2), ([1, 2, 3], True, "length", 3), ([1, 9, 2], True, "eos", 2)],
)
def test_a_text_ends_with_its_budget_or_a_token_that_ends_it(
    backend: Any, tokens: list[int], through: bool, ended: str, kept: int
) -> None:
    one = request(backend)
    assert one.take(tokens, [-1.0] * len(tokens), frozenset({9})) is through
    assert (one.ended, one.tokens, len(one.logprobs)) == (ended, tokens[:kept], kept)


def test_states_that_are_no_numbers_are_off(backend: Any) -> None:
    """Half the stream's length away, and not a number at all."""
    check = import_module("engine.lm.vllm.self_check")
    small: Any = SimpleNamespace(info=SimpleNamespace(dtype="float32", name="small"))
    expected = np.array([[3.0, 4.0]], dtype=np.float32)
    check._compare(small, "a state", expected, expected, 5.0)
    for value, off in ((1.5, "50.0%"), (float("nan"), "nan%")):
        with pytest.raises(ModelError) as caught:
            check._compare(small, "a state", expected * value, expected, 5.0)
        assert caught.value.what == f"a state is off by {off} of the stream's length"


def test_a_kept_continuation_fits_its_prefix_until_that_grows(backend: Any) -> None:
    parts = import_module("engine.lm.vllm.prefixes")
    prefixes = parts.CachedPrefixes(None, None, None, None, [[1, 2]])
    kept = parts.KeptInjections(prefixes._rows[0].version, ())
    one = Completion(tokens=[3], logprobs=[-1.0], text="c", ended="length", kept=kept)
    prefixes.extend(0, one)
    assert prefixes._rows[0].tokens == [1, 2, 3]
    message = "this continuation continues an earlier or another prefix than row 0 is now"
    with pytest.raises(ValueError, match=exactly(message)):
        prefixes.extend(0, one)
