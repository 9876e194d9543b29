"""Batched, cached generation does what one plain pass a token does."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from engine.errors import ModelError
from engine.lm.protocol import (
    NEWEST_TOKENS,
    Branch,
    LanguageModel,
    LogitsProcessor,
    Request,
    Sampling,
    Steer,
    Working,
)
from engine.lm.reporting import Reporting
from engine.lm.transformers.kv_cache import RunningKv
from engine.lm.transformers.model import TransformersModel
from tests.engine.lm.conftest import Pair
from tests.engine.lm.same import assert_literal, assert_same
from tests.exactly import exactly
from tests.literal_model import LiteralModel
from tests.tiny_models import ARCHITECTURES, EXTRA_EOS

STOPS = (None, "\n", "e", ".", "\n\n", "é")


def random_requests(model: LanguageModel, seed: int, count: int = 14, longest: int = 29) -> list[Request]:
    """Requests of every kind: prompts long and short, shared or not, greedy or sampled, steered or not."""
    rng = np.random.default_rng(seed)
    vocab, size = model.info.vocab_size, model.info.hidden_size
    prompts = [rng.integers(1, vocab, int(rng.integers(1, longest + 1))).tolist() for _ in range(count // 2)]
    found = []
    for index in range(count):
        vector = rng.normal(size=size).astype(np.float32)
        steer = Steer(vector, int(rng.integers(model.info.num_layers)), 2.0) if rng.random() < 0.4 else None
        found.append(
            Request(
                prompt=prompts[int(rng.integers(len(prompts)))],
                sampling=Sampling(
                    max_tokens=int(rng.integers(0, 40)),
                    temperature=float(rng.choice([0.0, 0.7, 1.0])),
                    stop=STOPS[int(rng.integers(len(STOPS)))],
                ),
                seed=index,
                steer=steer,
                capture_layers=[(), (1,), (2, 0)][int(rng.integers(3))],
                capture_after=[None, "\n", "e", "1"][int(rng.integers(4))],
            )
        )
    return found


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("seed", [0, 1])
def test_fast_equals_literal(pair: Callable[[str], Pair], architecture: str, seed: int) -> None:
    model, literal = pair(architecture)
    requests = random_requests(model, seed)
    assert_literal(model.generate(requests), literal, requests)


def test_captures_and_ends_of_every_kind_occur(pair: Callable[[str], Pair]) -> None:
    model, literal = pair("qwen2")
    requests = [request for seed in range(2, 8) for request in random_requests(model, seed)]
    found = model.generate(requests)
    assert_literal(found, literal, requests)
    assert {completion.ended for completion in found} == {"eos", "stop", "length"}
    last_token = [f.state_ends and f.state_ends[-1] == len(f.tokens) for f in found if f.states is not None]
    assert any(last_token), "a capture at the very last token needs a pass of its own"
    assert sum(len(completion.state_ends) for completion in found) > 20


@pytest.mark.parametrize("rows", [1, 3, 5])
def test_chunks_change_nothing(pair: Callable[[str], Pair], rows: int) -> None:
    model, _ = pair("llama")
    requests = random_requests(model, 11, count=20)
    small = TransformersModel(model.network, model.tokenizer, model.info, max_num_seqs=rows)
    calls: list[int] = []
    small.between = lambda call, working: calls.append(1)
    found = small.generate(requests)
    assert_same(found, model.generate(requests))
    assert len(calls) >= -(-len(requests) // rows)


def test_long_continuations_outgrow_the_first_room(pair: Callable[[str], Pair]) -> None:
    """Columns are added as rows leave: in a batch of unequal budgets both happen, in turn."""
    model, literal = pair("qwen2")
    requests = [
        Request([7 + i] * (1 + 9 * i), Sampling(limit, 1.0), i)
        for i, limit in enumerate([1, 10, 63, 64, 65, 66, 130, 200])
    ]
    ends, model.tokenizer.eos_token_ids = model.tokenizer.eos_token_ids, frozenset()
    try:
        found = model.generate(requests)
        assert [len(completion.tokens) for completion in found] == [1, 10, 63, 64, 65, 66, 130, 200]
        assert_literal(found, literal, requests)
    finally:
        model.tokenizer.eos_token_ids = ends


def test_a_full_device_says_what_to_do(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("qwen2")

    def fill(written: object, logits: object) -> object:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(
        ModelError,
        match=exactly(
            "the device's memory is full (generating): lower `model.max_num_seqs`, use a smaller "
            "`model.dtype` or model, or `model.device: cpu`"
        ),
    ):
        model.generate([Request([1], Sampling(2))], logits_processor=fill)


def test_order_and_company_do_not_change_samples(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("qwen2")
    requests = [replace(r, sampling=Sampling(20, 1.0)) for r in random_requests(model, 5)]
    whole = model.generate(requests)
    backwards = model.generate(requests[::-1])[::-1]
    alone = [model.generate([request])[0] for request in requests]
    assert_same(backwards, whole)
    assert_same(alone, whole)


def test_seeds_differ(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("qwen2")
    requests = [Request([5, 6, 7], Sampling(20, 1.0), seed=seed) for seed in range(8)]
    assert len({tuple(completion.tokens) for completion in model.generate(requests)}) == 8


def test_what_is_raised_between_passes_comes_through(pair: Callable[[str], Pair]) -> None:
    model = _few_rows(pair("qwen2")[0], 4)

    def stop(call: object, working: Callable[[], Working]) -> None:
        raise KeyboardInterrupt

    model.between = stop
    with pytest.raises(KeyboardInterrupt):
        model.generate([Request([1], Sampling(2))])


def test_logits_processor(pair: Callable[[str], Pair]) -> None:
    """It sees each row's own tokens, and its changes count in the log-probabilities."""
    model, literal = pair("qwen2")

    def no_repeats(written: Sequence[Sequence[int]], logits: Any) -> Any:
        logits = logits.clone()
        for row, tokens in enumerate(written):
            logits[row, list(tokens)] = -torch.inf
        return logits

    requests = [replace(r, capture_layers=()) for r in random_requests(model, 3)]
    found = model.generate(requests, logits_processor=no_repeats)
    assert_literal(found, literal, requests, no_repeats)
    assert all(len(set(c.tokens)) == len(c.tokens) for c in found)


def test_a_processor_that_loses_rows_is_refused(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("qwen2")
    with pytest.raises(
        ValueError, match=exactly("the logits processor must return a tensor of shape (1, 320)")
    ):
        model.generate([Request([1], Sampling(2))], logits_processor=lambda written, logits: None)


def test_not_a_number_is_an_error(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("qwen2")

    def spoil(written: object, logits: Any) -> Any:
        return torch.full_like(logits, torch.nan)

    with pytest.raises(
        ModelError,
        match=exactly(
            "the model's logits are not numbers (after 0 tokens of a continuation): use dtype "
            "bfloat16 or float32, or a smaller steering scale"
        ),
    ):
        model.generate([Request([1], Sampling(2))], logits_processor=spoil)


def test_no_hook_is_left_behind(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("gpt2")

    def fail(written: object, logits: object) -> object:
        raise RuntimeError("processor")

    steer = Steer(np.ones(model.info.hidden_size, np.float32), 1, 1.0)
    request = Request([1, 2], Sampling(3), steer=steer, capture_layers=(0,), capture_after="e")
    with pytest.raises(RuntimeError, match=exactly("processor")):
        model.generate([request], logits_processor=fail)
    model.generate([request])
    assert not any(layer._forward_hooks for layer in model.network.layers)


def test_bad_requests(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("qwen2")
    vector = np.ones(model.info.hidden_size, np.float32)
    for request, what in [
        (Request([], Sampling(1)), "empty prompt"),
        (Request([1], Sampling(1), capture_layers=(3,)), "layer 3"),
        (Request([1], Sampling(1), steer=Steer(vector, 3, 1.0)), "layer 3"),
        (Request([1], Sampling(1), steer=Steer(vector[:5], 0, 1.0)), "shape"),
        (Request([1], Sampling(1, stop="")), "empty string"),
    ]:
        with pytest.raises(ValueError, match=what):
            model.generate([request])


def only(token: int) -> LogitsProcessor:
    """A processor that leaves one token to choose."""

    def choose(written: Sequence[Sequence[int]], logits: Any) -> Any:
        left = torch.full_like(logits, -torch.inf)
        left[:, token] = 0
        return left

    return choose


def test_an_end_that_completes_the_stop_string_is_an_end(pair: Callable[[str], Pair]) -> None:
    """Its token is no part of the text: neither a stop, nor the end of a segment."""
    model, _ = pair("qwen2")
    token = EXTRA_EOS[0]
    needle = model.tokenizer.decode([token])
    request = Request([1, 2], Sampling(4, stop=needle), capture_layers=(1,), capture_after=needle)
    (found,) = model.generate([request], logits_processor=only(token))
    assert (found.tokens, found.text, found.ended, found.state_ends) == ([token], "", "eos", [])


def test_an_end_beyond_the_rows_of_the_logits_is_never_written(pair: Callable[[str], Pair]) -> None:
    """A tokenizer may have more tokens than its model."""
    model, _ = pair("qwen2")
    requests = random_requests(model, 1)
    expected = model.generate(requests)
    ends = model.tokenizer.eos_token_ids
    model.tokenizer.eos_token_ids = ends | {model.info.vocab_size, model.info.vocab_size + 7}
    try:
        assert_same(model.generate(requests), expected)
    finally:
        model.tokenizer.eos_token_ids = ends


def test_no_continuation_leaves_the_context(pair: Callable[[str], Pair]) -> None:
    """Beyond the positions it was trained on a model writes nonsense: a continuation ends there, and a prompt that
    leaves no room is refused."""
    model, _ = pair("qwen2")
    assert model.info.context > 0
    short = TransformersModel(model.network, model.tokenizer, replace(model.info, context=12))
    (whole,) = model.generate([Request([1] * 9, Sampling(8))])
    (cut,) = short.generate([Request([1] * 9, Sampling(8))])
    assert cut.tokens == whole.tokens[:3] and cut.ended == "length"
    (last,) = short.generate([Request([1] * 11, Sampling(8))])
    assert len(last.tokens) == 1, "a prompt that leaves room for one token"
    with pytest.raises(
        ModelError,
        match=exactly(
            "a prompt of 12 tokens leaves no room in a context of 12 (…): shorten the prompt, or "
            "take a model with a longer context"
        ),
    ):
        short.generate([Request([1] * 12, Sampling(8))])


def test_a_text_whose_states_were_to_be_read_and_that_has_none(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("qwen2")
    request = Request([1, 2], Sampling(3), capture_layers=(2, 0), capture_after="no such text")
    (found,) = model.generate([request])
    assert found.states is not None and found.state_ends == []
    assert (found.states.shape, found.states.dtype) == ((0, 2, model.info.hidden_size), np.float32)


def test_a_large_budget_takes_no_memory_before_it_is_used(
    pair: Callable[[str], Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    """64 columns to spare at first, fewer for smaller budgets; a full batch grows by a half, and by 64 at least."""
    model, _ = pair("qwen2")
    spared: list[int] = []
    begin = RunningKv.__init__

    def noted(batch: RunningKv, layout: Any, lengths: Any, spare: int) -> None:
        if len(lengths):
            spared.append(spare)
        begin(batch, layout, lengths, spare)

    monkeypatch.setattr(RunningKv, "__init__", noted)
    ends, model.tokenizer.eos_token_ids = model.tokenizer.eos_token_ids, frozenset()
    try:
        model.generate([Request([1, 2], Sampling(150)), Request([1, 2], Sampling(3))])
        assert spared == [64, 64, 65]
        spared.clear()
        model.generate([Request([1, 2], Sampling(9)), Request([1, 2], Sampling(3))])
        assert spared == [9]
    finally:
        model.tokenizer.eos_token_ids = ends


def test_nothing_asked_nothing_given(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("qwen2")
    assert model.generate([]) == []
    (empty,) = model.generate([Request([1], Sampling(0))])
    assert (empty.tokens, empty.ended, empty.mean_logprob) == ([], "length", 0.0)


@pytest.mark.parametrize("delimiter", ["\n", "e", "\n\n", "1"])
def test_states_are_read_where_segments_decoded_alone_would_end(
    pair: Callable[[str], Pair], delimiter: str
) -> None:
    """Control points are numbered alike in rollouts and in decoding segment by segment."""
    model, _ = pair("qwen2")
    rng = np.random.default_rng(5)
    crowded = 0
    for _ in range(12):
        prompt = rng.integers(1, model.info.vocab_size, 6).tolist()
        whole = Request(prompt, Sampling(60), capture_layers=(1,), capture_after=delimiter)
        rollout = model.generate([whole])[0]
        tokens: list[int] = []
        ends: list[int] = []
        ended = "stop"
        while ended == "stop" and len(tokens) < 60:
            sampling = Sampling(60 - len(tokens), stop=delimiter)
            segment = model.generate([Request([*prompt, *tokens], sampling)])[0]
            tokens += segment.tokens
            ended = segment.ended
            ends += [len(tokens)] * (ended == "stop")
        assert (rollout.tokens, rollout.state_ends) == (tokens, ends)
        crowded += rollout.text.count(delimiter) > len(ends)
    if delimiter == "\n":
        assert crowded, "no token holds two delimiters: the case does not occur"


def _few_rows(model: TransformersModel, rows: int) -> TransformersModel:
    return TransformersModel(model.network, model.tokenizer, model.info, max_num_seqs=rows)


@pytest.mark.parametrize("architecture", ["qwen2", "gemma2"])
@pytest.mark.parametrize("rows", [1, 3, 8])
def test_in_flight_equals_literal(pair: Callable[[str], Pair], architecture: str, rows: int) -> None:
    """Rows that join a running batch get what they would get alone, also where a long one joins short ones."""
    model, literal = pair(architecture)
    requests = random_requests(model, 9, count=40, longest=60)
    assert_literal(_few_rows(model, rows).generate(requests), literal, requests)


def test_a_row_that_ends_makes_room(pair: Callable[[str], Pair], monkeypatch: pytest.MonkeyPatch) -> None:
    """One long text among many short ones: the passes are those of the long one, not the sum over batches."""
    model, _ = pair("qwen2")
    passes: list[int] = []
    step = type(model.network).step

    def counted(network: Any, tokens: Any, *rest: Any) -> Any:
        passes.append(len(tokens))
        return step(network, tokens, *rest)

    monkeypatch.setattr(type(model.network), "step", counted)
    lengths = [40] * 2 + [5] * 30
    requests = [
        Request([index + 1, 2], Sampling(tokens, temperature=1.0), seed=index)
        for index, tokens in enumerate(lengths)
    ]
    model = _few_rows(model, 8)
    written = [len(completion.tokens) for completion in model.generate(requests)]
    assert len(passes) <= max(written) + 5 and max(passes) <= 8
    assert sum(passes) < 1.3 * sum(written)


def test_between_its_passes_a_model_tells_how_far_it_is(pair: Callable[[str], Pair]) -> None:
    model = _few_rows(pair("qwen2")[0], 4)
    seen = []
    model.between = lambda call, working: seen.append((call, working()))
    requests = [Request([index + 1], Sampling(6, 1.0), seed=index) for index in range(10)]
    tokens = sum(len(completion.tokens) for completion in model.generate(requests))
    told = [working for _, working in seen]
    assert len({id(call) for call, _ in seen}) == 1
    assert all(working.sequences == 10 for working in told)
    assert [working.done for working in told] == sorted(working.done for working in told)
    assert [working.tokens for working in told] == sorted(working.tokens for working in told)
    assert told[0].tokens == 0 and tokens - 10 <= told[-1].tokens <= tokens
    assert any(working.text for working in told)


def test_a_long_text_is_told_by_its_newest_tokens(pair: Callable[[str], Pair]) -> None:
    model = _few_rows(pair("qwen2")[0], 4)
    told: list[str] = []
    model.between = lambda call, working: told.append(working().text)
    ends, model.tokenizer.eos_token_ids = model.tokenizer.eos_token_ids, frozenset()
    try:
        (found,) = model.generate([Request([5, 6], Sampling(60, 1.0))])
    finally:
        model.tokenizer.eos_token_ids = ends
    assert len(told) > 60
    assert told[-1] == model.tokenizer.decode(found.tokens[59 - NEWEST_TOKENS : 59])


def test_the_text_that_is_told_is_one_under_way(pair: Callable[[str], Pair]) -> None:
    """Not that of the first request, which has ended."""
    model = _few_rows(pair("qwen2")[0], 4)
    told: list[str] = []
    model.between = lambda call, working: told.append(working().text)
    ends, model.tokenizer.eos_token_ids = model.tokenizer.eos_token_ids, frozenset()
    try:
        short, long = model.generate([Request([5, 6], Sampling(2)), Request([7, 8], Sampling(6, 1.0))])
    finally:
        model.tokenizer.eos_token_ids = ends
    assert not long.text.startswith(short.text)
    assert told[-1] == model.tokenizer.decode(long.tokens[:5])


def test_who_is_told_holds_no_key_values(
    pair: Callable[[str], Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a report holds on to between two calls is a mark, never the batch."""
    model = _few_rows(pair("qwen2")[0], 4)
    model.between = Reporting(lambda event: None)
    batches: list[weakref.ref[RunningKv]] = []
    begin = RunningKv.__init__

    def noted(batch: RunningKv, *arguments: Any) -> None:
        batches.append(weakref.ref(batch))
        begin(batch, *arguments)

    monkeypatch.setattr(RunningKv, "__init__", noted)
    model.generate([Request([1, 2], Sampling(5))])
    prefixes = model.open([[1, 2]])
    prefixes.branch([Branch(0, Sampling(5))])
    kept = weakref.ref(prefixes)
    del prefixes
    gc.collect()
    assert batches and all(batch() is None for batch in batches) and kept() is None


def test_what_between_raises_ends_the_call(pair: Callable[[str], Pair]) -> None:
    """Wherever the model is at work: generating, continuing open prefixes, reading states."""
    model = _few_rows(pair("qwen2")[0], 4)

    def stop(call: object, working: object) -> None:
        raise KeyboardInterrupt

    prefixes = model.open([[1, 2, 3]])
    model.between = stop
    stopping = model.open([[1, 2, 3]])
    for work in (
        lambda: model.generate([Request([1], Sampling(3))]),
        lambda: stopping.branch([Branch(0, Sampling(3))]),
        lambda: stopping.states([0], [0]),
        lambda: model.states([[1, 2]], [[1]], [0]),
    ):
        with pytest.raises(KeyboardInterrupt):
            work()
    assert prefixes.branch([Branch(0, Sampling(3))])[0].tokens


def test_a_wrong_guess_changes_nothing_of_the_literal_model(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("llama")
    alone = LiteralModel(model.network.model, list(model.network.layers), model.tokenizer, model.info)
    guessing = LiteralModel(model.network.model, list(model.network.layers), model.tokenizer, model.info)
    requests = random_requests(model, 4)
    expected = alone.generate(requests)
    guessing.guesses = [
        [*asked.prompt, 3, *one.tokens] for asked, one in zip(requests, expected, strict=True)
    ]
    assert_same(guessing.generate(requests), expected)
