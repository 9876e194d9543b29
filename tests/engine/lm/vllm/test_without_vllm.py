"""What the backend of vLLM does without an engine, where vLLM is not installed either."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from engine.errors import ModelError
from engine.lm.loading.load import embedded_folder
from engine.lm.loading.pretrained import model_fingerprint, parameter_count
from engine.lm.protocol import Branch, Completion, ModelInfo, Request, Sampling, Steer, Working
from engine.lm.vllm import engine_options, plugin
from engine.lm.vllm.request_args import Injection, RequestArgs
from tests.engine.lm.vllm.engine_stand_in import FULL_STOP, Engine, Layer, PPMissingLayer
from tests.exactly import exactly


class Sampler:
    """vLLM's, as far as it is there without it."""

    def __init__(self, logprobs_mode: str) -> None:
        self.logprobs_mode = logprobs_mode

    def __call__(self, *given: Any) -> Any:
        return self.forward(*given)  # type: ignore[attr-defined]


PARTS: dict[str, dict[str, Any]] = {
    "vllm.sampling_params": {
        "RequestOutputKind": SimpleNamespace(DELTA="delta"), "SamplingParams": SimpleNamespace,
    },
    "vllm.v1.engine.exceptions": {"EngineDeadError": type("EngineDeadError", (Exception,), {})},
    "vllm.v1.outputs": {"LogprobsTensors": SimpleNamespace, "SamplerOutput": SimpleNamespace},
    "vllm.v1.sample.sampler": {"Sampler": Sampler},
}  # fmt: skip
OURS = ("driver", "prefixes", "model", "self_check", "sampler")


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module `engine.lm.vllm.model`, with what it takes of vLLM stood in for."""
    if find_spec("vllm"):
        yield import_module("engine.lm.vllm.model")
        return
    for module, names in PARTS.items():
        monkeypatch.setitem(sys.modules, module, SimpleNamespace(**names))  # type: ignore[arg-type]
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


# ---------------------------------------------------------------- on an engine whose model is worked out by hand


class Letters:
    """A token is a letter."""

    eos_token_ids = frozenset({FULL_STOP})

    def encode(self, text: str) -> list[int]:
        return [*map(ord, text)]

    def decode(self, tokens: Any) -> str:
        return "".join(map(chr, tokens))


def started(backend: Any, engine: Engine) -> Any:
    """The backend's model over this engine."""
    info: Any = SimpleNamespace(name="small", num_layers=2, hidden_size=2, vocab_size=128, dtype="float32")
    driver = import_module("engine.lm.vllm.driver").Driver(engine, Letters.eos_token_ids, 2, 2)
    return backend.VllmModel(engine, driver, Letters(), info)


def asks(prompt: str, tokens: int, stop: str | None = None, **more: Any) -> Request:
    return Request([*map(ord, prompt)], Sampling(tokens, stop=stop), **more)


RIGHT = np.array([1.0, 0.0], np.float32)
"""Twice this at layer 0 and the last token of `ab`: g follows (2 + 2 + 2) and not e (2 + 2), then o (7 + 4 + 1 + 2)."""


def test_requests_of_all_kinds_together(backend: Any) -> None:
    """What ends a text, what is read from its states, who is reported when, and what a screen sees between passes."""
    engine = Engine()
    one = started(backend, engine)
    passes, reported = list[Working](), list[tuple[int, bool]]()
    one.between = lambda mark, working: passes.append(working())
    requests = [
        asks("ab", 3),
        asks("ab", 3, steer=Steer(RIGHT, 0, 2.0), capture_layers=(1, 0), capture_after="g"),
        asks("ab", 9, stop="kx"),
        asks("z", 3),
        asks("b", 2, capture_layers=(0,), capture_after="c"),
        asks("b", 2, capture_layers=(0,)),
        asks("ab", 0),
    ]
    told = one.generate(
        requests, finished=lambda index, answer: reported.append((index, answer.states is None))
    )
    texts = ["ekx", "goe", "ekx", "", "ch", "ch", ""]
    assert [answer.text for answer in told] == texts
    assert [answer.ended for answer in told] == [
        "length", "length", "stop", "eos", "length", "length", "length",
    ]  # fmt: skip
    assert [len(answer.tokens) for answer in told] == [3, 3, 3, 1, 2, 2, 0]
    likely = 5.0 - np.log(np.exp(5.0) + 127.0)
    logprobs = [logprob for answer in told for logprob in answer.logprobs]
    np.testing.assert_allclose(logprobs, [likely] * 14, rtol=1e-6)
    # Of g: 7 + 2 and the 2 of the vector, after layer 0; after layer 1 also what layer 0 has of b: 2 + 1 + 2.
    np.testing.assert_array_equal(told[1].states, [[[14.0, 4.0], [9.0, 2.0]]])
    np.testing.assert_array_equal(told[4].states, [[[5.0, 2.0]]])
    assert told[5].states is not None and told[5].states.shape == (0, 1, 2)
    assert [answer.state_ends for answer in told] == [[], [1], [], [], [1], [], []]
    assert reported == [(3, True), (0, True), (2, True), (1, False), (4, False), (5, False), (6, True)]
    texts_under_way = [(6, 0, 0, ""), (6, 1, 6, "e"), (6, 3, 11, "ek"), (2, 0, 0, "")]
    assert passes == [Working(*seen) for seen in texts_under_way]
    assert engine.under_way == {} and engine.worker._steer.states == {}
    assert engine.worker.model_runner.eager == [True, True, True, True], "layers that are read or steered"


def test_each_vector_travels_before_it_is_used(backend: Any) -> None:
    engine = Engine()
    one = started(backend, engine)
    steers = [None, Steer(RIGHT, 0, 2.0), Steer(RIGHT * 3, 1, 1.0), Steer(RIGHT, 1, -1.0)]
    told = [one.generate([asks("ab", 2, steer=steer)])[0].text for steer in steers]
    assert told == ["ek", "go", "hn", "dj"]  # 4 + 3 is an h, and 8 + 4 + 1 an n; 4 - 1 a d
    assert engine.calls == ["steer_install", "steer_put_vectors", "steer_put_vectors"]
    states = one.steered_state([97, 98, 99], Steer(RIGHT, 0, 2.0), 1, (0, 1))
    np.testing.assert_array_equal(states, [[5.0, 2.0], [10.0, 4.0]])  # 3 + 2, and 2 + 1 + 2 more
    for given, read in zip(
        one.states([[97, 98], [98]], [[-1, 0], [0]], (1,)), ([4.0, 1.0], [2.0]), strict=True
    ):
        np.testing.assert_array_equal(given[:, 0, 0], read)


def test_what_is_read_comes_from_no_other_request_s_cache(backend: Any) -> None:
    """From the first position on that is read; cached tokens would run in no pass."""
    one = started(backend, Engine())
    first, second = (one._read([97] * 9, [5, 3], (0,), RequestArgs()).args for _ in range(2))
    assert first.unshared_from == second.unshared_from == 3 and first.nonce != second.nonce


def test_continuations_that_are_kept_go_on_as_they_were_begun(backend: Any) -> None:
    prefixes = started(backend, Engine()).open([[97, 98]])
    (begun,) = prefixes.branch([Branch(0, Sampling(2), keep=True)])
    onward = [
        Branch(0, sampling, continue_from=begun)
        for sampling in (Sampling(4), Sampling(2), Sampling(9, stop="kx"))
    ]
    told = prefixes.branch(onward)
    assert [(answer.text, len(answer.logprobs), answer.ended) for answer in told] == [
        ("ekxy", 4, "length"), ("ek", 2, "length"), ("ekx", 3, "stop"),
    ]  # fmt: skip
    assert [answer.kept for answer in told] == [None] * 3, "nobody asked to keep them"
    (steered,) = prefixes.branch([Branch(0, Sampling(1), Steer(RIGHT, 0, 2.0), keep=True)])
    (longer,) = prefixes.branch([Branch(0, Sampling(3), continue_from=steered)])
    assert longer.text == "goe", "its vector stays where it is"
    prefixes.extend(0, steered)
    assert prefixes.branch([Branch(0, Sampling(1), Steer(RIGHT, 0, 1.0))])[0].text == "p"  # 7 + 2 + 1 + 5
    np.testing.assert_array_equal(prefixes.states([0], [1, 0]), [[[14.0, 4.0], [9.0, 2.0]]])
    (two, none) = prefixes.branch([Branch(0, Sampling(2)), Branch(0, Sampling(0))])
    assert (two.text, none.text, none.ended) == ("oe", "", "length")
    prefixes.extend(0, two)
    np.testing.assert_array_equal(prefixes.states([0], [0]), [[[20.0, 2.0]]])  # e after o


def test_prefixes_have_rows_of_their_order(backend: Any) -> None:
    prefixes = started(backend, Engine()).open([[97, 98], [98]])
    assert prefixes.add([122]) == 2
    told = prefixes.branch([Branch(row, Sampling(2)) for row in (2, 0, 1)])
    assert [answer.text for answer in told] == ["", "ek", "ch"]
    prefixes.close([0])
    prefixes.close([0])
    assert prefixes.branch([Branch(1, Sampling(1))])[0].text == "c" and prefixes.add([97]) == 3
    with pytest.raises(ValueError, match="prompt 4 is empty"):
        prefixes.add([])


def test_states_are_read_at_the_end_of_each_segment(backend: Any) -> None:
    """Of ekxydy: 25 + 2 * 24 + 11, then 25 + 2 * 4 + 25."""
    request = asks("ab", 6, capture_layers=(1,), capture_after="y")
    (told,) = started(backend, Engine()).generate([request])
    assert (told.text, told.state_ends) == ("ekxydy", [4, 6])
    np.testing.assert_array_equal(told.states, [[[84.0, 4.0]], [[58.0, 4.0]]])


def test_draws_hang_on_the_seed_and_on_the_token_s_number_alone(backend: Any) -> None:
    """However a text is asked for: at once, as a branch, or in two parts; what is greedy beside it draws nothing."""
    one = started(backend, Engine())
    drawn = Sampling(6, temperature=1.0)
    requests = [Request([97, 98], drawn, seed) for seed in range(4)]
    *told, greedy = one.generate([*requests, asks("ab", 3)])
    texts = [answer.tokens for answer in told]
    assert greedy.text == "ekx" and len(set(map(tuple, texts))) == 4
    prefixes = one.open([[97, 98]])
    branches = [Branch(0, drawn, seed=seed) for seed in range(4)]
    assert [answer.tokens for answer in prefixes.branch(branches)] == texts
    begun = prefixes.branch([replace(one, sampling=Sampling(2, 1.0), keep=True) for one in branches])
    onward = [replace(one, continue_from=two) for one, two in zip(branches, begun, strict=True)]
    assert [answer.tokens for answer in prefixes.branch(onward)] == texts


def test_logits_that_are_no_numbers_end_the_call(backend: Any) -> None:
    one = started(backend, Engine())
    with pytest.raises(ModelError, match="the model's logits are not numbers"):
        one.generate([asks("ab", 2)], logits_processor=lambda written, logits: logits * float("nan"))


def test_a_pass_with_a_request_of_another_sender_is_left_to_vllm(backend: Any) -> None:
    sampler = import_module("engine.lm.vllm.sampler").CounterSampler
    draw = import_module("engine.lm.vllm.pass_plan").Draw(0.0, 0, 0)

    class Plain:
        logprobs_mode = "raw_logprobs"

        def __call__(self, logits: Any, metadata: Any) -> str:
            return "vLLM's"

    for draws, left in (([draw, None], True), ([draw], True), ([draw, draw], False)):
        told = sampler(Plain(), lambda draws=draws: draws).forward(torch.eye(2), None)
        assert (told == "vLLM's") is left


def likes(letter: str) -> Any:
    """A processor that makes a letter the likeliest until it is written."""

    def process(written: Any, logits: Any) -> Any:
        for tokens, row in zip(written, logits, strict=True):
            row[ord(letter)] += 0.0 if ord(letter) in tokens else 9.0
        return logits

    return process


def test_branches_are_each_under_their_processor(backend: Any) -> None:
    q, r = likes("q"), likes("r")
    prefixes = started(backend, Engine()).open([[97, 98]])
    given = [Branch(0, Sampling(2), processor=processor) for processor in (None, q, r, q)]
    # After ab and q: 17 + 4 + 1 = 22 is a w; after ab and r: 23, an x.
    assert [answer.text for answer in prefixes.branch(given)] == ["ek", "qw", "rx", "qw"]


def test_the_first_error_of_a_processor_is_told_once(backend: Any) -> None:
    def fails(written: Any, logits: Any) -> Any:
        raise KeyError(f"after {len(written[0])}")

    one = started(backend, Engine())
    for _ in range(2):
        with pytest.raises(ValueError, match=exactly("the logits processor failed: KeyError: 'after 0'")):
            one.generate([asks("ab", 3)], logits_processor=fails)
        assert one.generate([asks("ab", 2)], logits_processor=likes("q"))[0].text == "qw"
        assert one.generate([asks("ab", 2)])[0].text == "ek"


def test_what_breaks_off_leaves_nothing_in_the_engine(backend: Any) -> None:
    """Neither a request nor a state that was read for one."""
    engine = Engine()
    one = started(backend, engine)
    runs = [one._read([97, 98], [0], (0,), RequestArgs()), request(backend)]

    def stop(run: Any) -> None:
        assert engine.worker._steer.states and engine.under_way
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        one._driver.run(runs, ended=stop)
    assert engine.under_way == {} and engine.worker._steer.states == {}


def test_an_engine_that_dies_ends_every_call(backend: Any) -> None:
    """Those that wait for it, and those that come later."""
    engine = Engine()
    waiting: Future[object] = Future()
    engine.engine_core.utility_results = {1: waiting}
    started(backend, engine)
    os.close(engine.alive)
    died = import_module("vllm.v1.engine.exceptions").EngineDeadError
    assert isinstance(waiting.exception(timeout=5), died)
    assert isinstance(engine.engine_core.outputs_queue.get(timeout=5), died)
    assert engine.engine_core.resources.engine_dead is True


@pytest.mark.parametrize(
    ("wrong", "factor", "message"),
    [
        (0, 0.0, "a vector added at layer 0 is off by 100.0% of the stream's length"),
        (1, 0.0, "a vector added at layer 1 is off by 100.0% of the stream's length"),
        (1, 0.99, "a vector added at layer 1 is off by 1.0% of the stream's length"),
        (1, 1.0, ""),
    ],
)
def test_an_engine_that_does_not_steer_exactly_is_refused(
    backend: Any, wrong: int, factor: float, message: str
) -> None:
    """Also where only the last layer is wrong."""
    engine = Engine()
    one = started(backend, engine)
    inject = engine.worker._steer._inject
    check = import_module("engine.lm.vllm.self_check").check_steering

    def weakly(layer: int, output: Any) -> None:
        before = output[0].clone()
        inject(layer, output)
        if layer == wrong:
            output[0].copy_(before + factor * (output[0] - before))

    engine.worker._steer._inject = weakly
    if not message:
        check(one)
        return
    with pytest.raises(ModelError) as caught:
        check(one)
    assert caught.value.what == message


@pytest.mark.parametrize(("missing", "ran"), [(True, True), (False, False)])
def test_a_layer_whose_hook_does_not_run_is_an_error_where_it_is_this_worker_s(
    backend: Any, missing: bool, ran: bool
) -> None:
    engine = Engine(layers=[Layer(), PPMissingLayer() if missing else Layer()])
    one = started(backend, engine)
    steered = asks("ab", 1, steer=Steer(RIGHT, 1, 1.0))
    assert one.generate([steered])[0].text == ("e" if missing else "f"), "else the other worker steers"
    if ran:
        return
    engine.worker.model_runner.layers[1]._forward_hooks.clear()
    message = "the hooks of layers [1] did not run: nothing was steered there"
    with pytest.raises(RuntimeError, match=exactly(message)):
        one.generate([steered])


def test_an_engine_that_cannot_be_steered_is_shut_down(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    del engine.worker.model_runner.query_start_loc
    config = SimpleNamespace(num_hidden_layers=2, hidden_size=2, vocab_size=128)
    with pytest.raises(ModelError) as caught:
        engine_options._model(engine, "folder", config, Letters(), "")  # type: ignore[arg-type]
    why = "Runner of this vLLM has no `query_start_loc`"
    assert caught.value.what == f"this model cannot be steered in this vLLM: {why}"
    assert engine.shut == [{}]


def test_what_is_known_of_a_started_model(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, folder = Engine(context=40), str(embedded_folder("statements"))
    config = SimpleNamespace(num_hidden_layers=2, hidden_size=2, vocab_size=128)
    started: Any = engine_options._model(engine, folder, config, Letters(), "as asked")  # type: ignore[arg-type]
    assert started.info == ModelInfo(
        folder, "vllm", "cpu", "float32", 2, 2, 128, parameter_count(folder), model_fingerprint(folder), 40, "as asked"
    )  # fmt: skip
    assert engine.shut == []
    wrong = ModelError(what="it does not steer", where="small", hint="use another")

    def check(model: object) -> None:
        raise wrong

    monkeypatch.setattr(import_module("engine.lm.vllm.self_check"), "check_steering", check)
    engine = Engine()
    with pytest.raises(ModelError) as caught:
        engine_options._model(engine, folder, config, Letters(), "")  # type: ignore[arg-type]
    assert caught.value is wrong and engine.shut == [{}]


@pytest.mark.parametrize("killed", ["the owner", "the parent"])
def test_a_process_of_vllm_ends_where_its_owner_or_parent_has_ended(killed: str) -> None:
    """The owner may be gone before the plugin is loaded: then the process has another parent from the beginning."""
    owner = subprocess.Popen(["sleep", "60"])
    program = (
        "import os, sys\nfrom engine.lm.vllm import plugin\nplugin._CHECK_EVERY = 0.01\n"
        f"print('ready', flush=True)\nplugin._die_with({'os.getppid()' if killed == 'the owner' else '1'}, {owner.pid})"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    if killed == "the owner":
        assert process.poll() is None
        owner.kill()
        owner.wait()
    assert process.wait(20) == 1
    owner.kill()
    owner.wait()


def test_vllm_s_processes_end_with_their_owner_and_keep_steered_blocks_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The owner itself is watched by nobody, and a server that steer-tui did not start is left as it is."""

    def plain(request: Any, start: int, end: int, multimodal: int) -> tuple[Any, int]:
        return (("image", start),) if request.image else None, multimodal + 1

    blocks = SimpleNamespace(generate_block_hash_extra_keys=plain)
    for name in ("vllm", "vllm.v1", "vllm.v1.core"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(kv_cache_utils=blocks))  # type: ignore[arg-type]
    watched: list[Any] = []
    thread = lambda target, args, daemon: SimpleNamespace(start=lambda: watched.append(args))  # noqa: E731
    monkeypatch.setattr(plugin, "threading", SimpleNamespace(Thread=thread))
    for owner, watches in ((None, 0), (os.getpid(), 0), (os.getppid(), 1)):
        monkeypatch.setenv(plugin.OWNER, str(owner))
        if owner is None:
            monkeypatch.delenv(plugin.OWNER)
        plugin.register()
        assert watched == [(os.getppid(), owner)] * watches
    args = RequestArgs((Injection(5, 1, 2.0, "a"),))
    key = ("steer", "5 1 2.0 a")
    for image, given, start, keys in (
        (False, None, 4, None), (True, None, 4, (("image", 4),)), (True, args, 4, (("image", 4), key)),
        (False, args, 4, (key,)), (False, args, 0, None),
    ):  # fmt: skip
        params = SimpleNamespace(extra_args=given and given.pack())
        asked = SimpleNamespace(image=image, sampling_params=params)
        assert blocks.generate_block_hash_extra_keys(asked, start, start + 4, 7) == (keys, 8)
