"""The real vLLM does what recomputing everything, one token a pass, does: the tests that the transformers backend
passes, in float32, under every way of vLLM's to cut up the work."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.config.models.model import ModelSection
from engine.errors import ModelError
from engine.lm.protocol import Branch, Request, Sampling, Steer
from engine.lm.shared_models import SharedModels
from tests.engine.lm.same import assert_same
from tests.engine.lm.test_generate import random_requests
from tests.engine.lm.test_prefixes import Walk
from tests.engine.lm.vllm.conftest import SMALL, literal_of, running

pytest.importorskip("vllm", reason="vLLM is not installed here: `make test-vllm` has it")
pytestmark = [pytest.mark.vllm, pytest.mark.slow]

Tiny = Callable[[str], Path]
Both = tuple[Any, Any]

CUT_UP: dict[str, dict[str, Any]] = {
    "chunked": {"engine_args": {"max_num_batched_tokens": 64}, "max_num_seqs": 64},
    "preempted": {"engine_args": {"num_gpu_blocks_override": 20}, "max_num_seqs": 16},
    "uncached": {"engine_args": {"enable_prefix_caching": False}},
    "ahead": {
        "ahead": True,
        "engine_args": {"num_gpu_blocks_override": 20, "max_num_batched_tokens": 64},
        "max_num_seqs": 16,
    },
    "two_workers": {"engine_args": {"tensor_parallel_size": 2}},
    "pipeline": {"engine_args": {"pipeline_parallel_size": 2}, "ahead": False},
    "one_tensor_layers": {"architecture": "gpt2"},
}


@pytest.fixture(scope="module", params=CUT_UP)
def both(request: pytest.FixtureRequest, tiny: Tiny) -> Iterator[Both]:
    options = dict(CUT_UP[request.param])
    folder = tiny(options.pop("architecture", "qwen2"))
    with running(folder, **options) as model:
        yield model, literal_of(folder)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_generate(both: Both, seed: int) -> None:
    """Steered and plain, greedy and sampled, captured or not, prompts of one chunk and of several, in one batch."""
    model, literal = both
    requests = random_requests(model, seed, count=20, longest=150)
    assert_same(model.generate(requests), literal.generate(requests), 1e-3, 1e-3)


@pytest.mark.parametrize("seed", [0, 1])
def test_prefixes(both: Both, seed: int) -> None:
    """Query states, probes, commits, kept and unkept, over growing prefixes."""
    model, literal = both
    walk = Walk(model, literal, seed, longest=90, tolerance=1e-4)
    for _ in range(3):
        walk.segment()
    walk.close_first()
    walk.segment()


def test_states(both: Both) -> None:
    model, literal = both
    rng = np.random.default_rng(0)
    sequences = [rng.integers(0, model.info.vocab_size, length).tolist() for length in (3, 130, 1, 64, 65)]
    positions = [[2, 0, 2], [129, 5, 70], [0], [], [64, 3]]
    # Twice: the second time all of it stands in the prefix cache.
    for _ in range(2):
        found = model.states(sequences, positions, [2, 0])
        for ours, theirs in zip(found, literal.states(sequences, positions, [2, 0]), strict=True):
            np.testing.assert_allclose(ours, theirs.reshape(ours.shape), atol=1e-3, rtol=1e-5)


def test_preempted(tiny: Tiny) -> None:
    """More sequences than key/values fit: vLLM puts some off in the middle and computes them again, prompt and
    continuation in one piece. 12 prompts of 2 blocks fit into 27 at once, their 3 blocks at the end do not."""
    rng = np.random.default_rng(5)
    requests = [
        Request(
            rng.integers(66, 320, 60).tolist(),
            Sampling(36, 1.0),
            i,
            Steer(rng.normal(size=128).astype(np.float32), i % 3, 2.0),
        )
        for i in range(12)
    ]
    few: dict[str, Any] = {"engine_args": {"num_gpu_blocks_override": 28, "enable_prefix_caching": False}}
    with running(tiny("qwen2"), max_num_seqs=16, **few) as model:
        model._driver._eos = frozenset()  # every sequence goes on to its third block
        together = model.generate(requests)
        alone = [model.generate([request])[0] for request in requests]
    assert all(len(completion.tokens) == 36 for completion in together)
    assert_same(together, alone, 1e-3, 1e-3)


@pytest.fixture(scope="module")
def model(tiny: Tiny) -> Iterator[Any]:
    with running(tiny("qwen2")) as model:
        yield model


@pytest.fixture(scope="module")
def literal(tiny: Tiny) -> Any:
    return literal_of(tiny("qwen2"))


def cached_tokens(model: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Tokens of every finished request that came from the prefix cache, from now on."""
    found: list[int] = []
    step = model.engine.step

    def counting() -> Any:
        outputs = step()
        found.extend(output.num_cached_tokens for output in outputs if output.finished)
        return outputs

    monkeypatch.setattr(model.engine, "step", counting)
    return found


def test_what_is_shared(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes share the unsteered prefix up to the steered block, and no unsteered request gets a steered one."""
    rng = np.random.default_rng(1)
    prompt = rng.integers(66, 320, 100).tolist()
    steer = Steer(rng.normal(size=128).astype(np.float32), 1, 4.0)
    (fresh,) = model.states([prompt], [[-1]], [0, 1, 2])
    cached = cached_tokens(model, monkeypatch)
    steered = model.generate([Request(prompt, Sampling(40), steer=steer)])[0]
    assert cached.pop() == 96, "three blocks of 32 before the steered one"
    whole = [*prompt, *steered.tokens]
    assert len(whole) >= 128, "the steered block is full, so it was put into the cache"
    model.generate([Request(whole, Sampling(1))])
    assert cached.pop() == 96, "not the steered block"
    again = model.generate([Request(prompt, Sampling(40), steer=replace(steer, scale=-4.0))])[0]
    assert again.tokens != steered.tokens
    np.testing.assert_allclose(model.states([prompt], [[-1]], [0, 1, 2])[0], fresh, atol=1e-5)


def test_kept_steering_shares_its_own_blocks(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    prompt = rng.integers(66, 320, 60).tolist()
    steer = Steer(rng.normal(size=128).astype(np.float32), 0, 3.0)
    prefixes = model.open([prompt])
    (commit,) = prefixes.branch([Branch(0, Sampling(40), steer, keep=True)])
    prefixes.extend(0, commit)
    cached = cached_tokens(model, monkeypatch)
    carried = prefixes.states([0], [2])[0]
    assert cached.pop() >= 64, "what was decoded behind the steered token is used again"
    (plain,) = model.states([[*prompt, *commit.tokens]], [[-1]], [2])
    assert np.abs(carried - plain[0]).max() > 1e-3


def test_vectors_travel_once(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    call = model.engine.collective_rpc
    monkeypatch.setattr(
        model.engine, "collective_rpc", lambda method, **rest: (calls.append(method), call(method, **rest))[1]
    )
    vector = np.random.default_rng(3).normal(size=128).astype(np.float32)
    for scale in (1.0, 2.0, 2.0):
        model.generate([Request([70, 71], Sampling(2), steer=Steer(vector, 1, scale))] * 3)
    assert calls == ["steer_put_vectors"]


def test_logits_processor(model: Any, literal: Any) -> None:
    def no_repeats(written: Sequence[Sequence[int]], logits: Any) -> Any:
        logits = logits.clone()
        for row, tokens in enumerate(written):
            logits[row, list(tokens)] = -float("inf")
        return logits

    requests = [replace(r, capture_layers=()) for r in random_requests(model, 3)]
    found = model.generate(requests, logits_processor=no_repeats)
    assert_same(found, literal.generate(requests, logits_processor=no_repeats), 1e-3)
    assert all(len(set(c.tokens)) == len(c.tokens) for c in found)


def test_a_bad_processor_ends_the_call_and_not_the_engine(model: Any) -> None:
    request = Request([70, 71], Sampling(4))
    (plain,) = model.generate([request])
    with pytest.raises(ValueError, match="shape"):
        model.generate([request], logits_processor=lambda written, logits: None)
    with pytest.raises(ValueError, match="ZeroDivisionError"):
        model.generate([request], logits_processor=lambda written, logits: 1 / 0)
    assert model.generate([request]) == [plain]


def test_what_is_raised_between_passes_comes_through(model: Any) -> None:
    """And the engine is free again: what was under way neither goes on nor comes up later."""
    calls: list[int] = []

    def stop_at_fifth(call: object, working: object) -> None:
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt

    requests = random_requests(model, 4)
    before, model.between = model.between, stop_at_fifth
    try:
        with pytest.raises(KeyboardInterrupt):
            model.generate([replace(r, sampling=Sampling(40)) for r in requests])
    finally:
        model.between = before
    first = model.generate(requests)
    assert_same(model.generate(requests), first, 1e-3, 1e-3)


def test_bad_requests(model: Any) -> None:
    vector = np.ones(128, np.float32)
    for request, what in [
        (Request([], Sampling(1)), "empty prompt"),
        (Request([1], Sampling(1), capture_layers=(3,)), "layer 3"),
        (Request([1], Sampling(1), steer=Steer(vector, 3, 1.0)), "layer 3"),
        (Request([1], Sampling(1), steer=Steer(vector[:5], 0, 1.0)), "shape"),
    ]:
        with pytest.raises(ValueError, match=what):
            model.generate([request])
    with pytest.raises(ModelError, match="leaves no room"):
        model.generate([Request([70] * 512, Sampling(1))])
    (full,) = model.generate([Request([70] * 510, Sampling(9))])
    assert (len(full.tokens), full.ended) == (1, "length")
    (empty,) = model.generate([Request([1], Sampling(0))])
    assert (empty.tokens, empty.ended) == ([], "length")
    assert model.generate([]) == []


def test_bfloat16(tiny: Tiny, literal: Any) -> None:
    """8 bits' precision: the start's own check finds the vector where it belongs, states are right to 3%."""
    tokens = list(range(70, 110))
    (expected,) = literal.states([tokens], [[39, 3]], [0, 1, 2])
    with running(tiny("qwen2"), dtype="bfloat16") as model:
        (found,) = model.states([tokens], [[39, 3]], [0, 1, 2])
    assert np.linalg.norm(found - expected) < 0.03 * np.linalg.norm(expected)


def test_a_vllm_that_shares_steered_blocks_is_refused(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this product's plugin, an unsteered request would be given steered key/values."""
    monkeypatch.setenv("VLLM_PLUGINS", "")
    with (
        pytest.raises(ModelError, match="an unsteered state after a steered one is off"),
        running(tiny("qwen2")),
    ):
        pass


def test_a_second_model_takes_the_place_of_the_first(tiny: Tiny) -> None:
    """Stages of one run may each have a model of their own."""
    before = set(_children(os.getpid(), "VLLM"))
    models = SharedModels(lambda event: None)
    sections = [
        ModelSection.model_validate(
            {"backend": "vllm", "path": str(tiny(name)), "dtype": "float32", "threads": 1, "vllm": SMALL}
        )
        for name in ("qwen2", "llama")
    ]
    models(sections[0])
    (first,) = set(_children(os.getpid(), "VLLM")) - before
    second = models(sections[1])
    assert not _lives(first)
    try:
        assert len(second.generate([Request([70, 71], Sampling(5))])[0].tokens) == 5
    finally:
        second.close()  # type: ignore[attr-defined]


def test_a_killed_engine_is_an_error_and_leaves_nothing(tiny: Tiny) -> None:
    before = set(_children(os.getpid(), "VLLM"))
    with running(tiny("qwen2")) as model:
        (core,) = set(_children(os.getpid(), "VLLM")) - before
        workers = _children(core, "VLLM")
        assert workers
        os.kill(core, signal.SIGKILL)
        with pytest.raises(ModelError, match="died"):
            model.generate([Request([70, 71], Sampling(200))])
        deadline = time.monotonic() + 60
        while any(_lives(pid) for pid in workers):
            assert time.monotonic() < deadline, "a worker outlives its engine"
            time.sleep(0.2)


def _children(parent: int, name: str) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(parent)], capture_output=True, text=True)
    return [int(line.split()[0]) for line in found.stdout.splitlines() if name in line]


def _lives(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
