"""What a model had finished when its worker was killed in the middle of a call: the next worker goes on there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from engine.lm.kept_texts import (
    KeepingModel,
    KeptTexts,
    NamedProcessor,
    _digest,
    _KeepingPrefixes,
    _request,
)
from engine.lm.protocol import Branch, Completion, Finished, Request, Sampling, Steer, ignore
from engine.lm.transformers.model import TransformersModel
from tests.engine.lm.conftest import Pair
from tests.engine.lm.same import assert_same
from tests.engine.lm.test_generate import random_requests


class Killed(BaseException):
    """As abrupt as a kill: the process does not write anything afterwards."""


@pytest.fixture
def model(pair: Callable[[str], Pair]) -> TransformersModel:
    plain, _ = pair("qwen2")
    return TransformersModel(plain.network, plain.tokenizer, plain.info, max_num_seqs=4)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.lm.kept_texts.EVERY", 0.0)
    monkeypatch.setattr("engine.lm.kept_texts.FIRST", 0.0)


def keeping(model: TransformersModel, folder: Path, kill_after: int | None = None) -> KeepingModel:
    """A new worker's model. It is killed after this many passes."""
    fresh = TransformersModel(model.network, model.tokenizer, model.info, max_num_seqs=4)
    passes = [0]

    def kill(call: object, working: object) -> None:
        passes[0] += 1
        if passes[0] == kill_after:
            raise Killed

    fresh.between = kill
    return KeepingModel(fresh, KeptTexts(folder / "kept.jsonl"))


def decoded(keeper: KeepingModel, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many requests each call hands to the model itself."""
    seen: list[int] = []
    generate = keeper.model.generate

    def counted(requests: Sequence[Request], **options: object) -> list[Completion]:
        seen.append(len(requests))
        return generate(requests, **options)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(keeper.model, "generate", counted)
    return seen


@pytest.mark.parametrize("kill_after", [1, 12, 30])
def test_only_what_is_missing_is_decoded_again(
    model: TransformersModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill_after: int
) -> None:
    requests = random_requests(model, 3, count=24)
    whole = model.generate(requests)
    with pytest.raises(Killed):
        keeping(model, tmp_path, kill_after).generate(requests)
    second = keeping(model, tmp_path)
    seen = decoded(second, monkeypatch)
    left = 24 - len(second.kept)
    assert_same(second.generate(requests), whole)
    assert seen == [left] and (left < 20 or kill_after < 30)


def test_texts_keep_their_numbers_and_names_beside_those_that_are_found(tmp_path: Path) -> None:
    """Of four texts the second is there; the first is still to be written when the call is ended."""

    def text(letter: str) -> Completion:
        return Completion([ord(letter)], [-1.0], letter, "stop")

    kept, told, left = KeptTexts(tmp_path / "kept.jsonl"), list[tuple[int, str]](), list[tuple[int, str]]()
    kept.add("two", text("b"))

    def ended(missing: Sequence[int], finished: Finished, unfinished: Finished) -> list[Completion]:
        assert [*missing] == [0, 2, 3]
        finished(1, text("c"))
        unfinished(2, text("d"))
        raise Killed

    def tell(place: list[tuple[int, str]]) -> Finished:
        return lambda number, one: place.append((number, one.text))

    names = ["one", "two", "three", "four"]
    with pytest.raises(Killed):
        kept.call(names, ended, tell(told), tell(left))
    assert (told, left) == ([(1, "b"), (2, "c")], [(3, "d")])
    again = KeptTexts(tmp_path / "kept.jsonl")
    found, begun = again.find("three"), again.begun("four", Sampling(9))
    assert found is not None and begun is not None and (found.text, begun.text) == ("c", "d")
    assert again.find("one") is again.begun("one", Sampling(9)) is None
    done = again.call(
        names, lambda missing, *_: [text("ad"[place]) for place, _ in enumerate(missing)], ignore, ignore
    )
    assert [one.text for one in done] == ["a", "b", "c", "d"]


def test_a_text_is_found_as_it_was_written(tmp_path: Path) -> None:
    """Whoever finds it may change its states; the next one finds it as before."""
    states = np.array([[[1.0, -2.5]], [[0.0, 3.0]]], dtype=np.float32)
    kept = KeptTexts(tmp_path / "kept.jsonl")
    kept.add("one", Completion([7, 8], [-0.5, -1.25], "ab", "stop", states, [1, 2]))
    again = KeptTexts(tmp_path / "kept.jsonl")
    for _ in range(2):
        found = again.find("one")
        assert found is not None and found.states is not None
        assert (found.tokens, found.logprobs, found.text) == ([7, 8], [-0.5, -1.25], "ab")
        assert (found.ended, found.state_ends, found.states.dtype) == ("stop", [1, 2], np.float32)
        assert found.states.tolist() == states.tolist()
        found.states[0] = 9.0
        found.state_ends.append(3)


def test_a_torn_tail_and_a_foreign_file_cost_nothing_but_time(
    model: TransformersModel, tmp_path: Path
) -> None:
    requests = random_requests(model, 4, count=8)
    whole = model.generate(requests)
    keeping(model, tmp_path).generate(requests)
    path = tmp_path / "kept.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert_same(keeping(model, tmp_path).generate(requests), whole)
    path.write_text('{"what": "else"}\nno json\n')
    assert_same(keeping(model, tmp_path).generate(requests), whole)
    assert len(keeping(model, tmp_path).kept) == len(requests)


def test_continuations_of_open_prefixes_are_kept(model: TransformersModel, tmp_path: Path) -> None:
    """As ESM decodes: a null probe, a steered probe, the commit that goes on from the null probe, the next segment."""
    vector = np.ones(model.info.hidden_size, dtype=np.float32)

    def decode(keeper: KeepingModel | TransformersModel) -> list[Completion]:
        prefixes = keeper.open([[1, 2, 3], [4, 5]])
        found: list[Completion] = []
        for _ in range(2):
            null = prefixes.branch([Branch(row, Sampling(3), keep=True) for row in (0, 1)])
            steered = prefixes.branch(
                [Branch(row, Sampling(3), steer=Steer(vector, 1, 2.0)) for row in (0, 1)]
            )
            commits = [Branch(row, Sampling(9), continue_from=null[row], keep=True) for row in (0, 1)]
            found += [*null, *steered, *(committed := prefixes.branch(commits))]
            for row in (0, 1):
                prefixes.extend(row, committed[row])
        return found

    whole = decode(model)
    for kill_after in (4, 9, 17, 25):
        folder = tmp_path / str(kill_after)
        folder.mkdir()
        with pytest.raises(Killed):
            decode(keeping(model, folder, kill_after))
        assert_same(decode(keeping(model, folder)), whole)


def test_when_results_were_stored_ten_seconds_pass_anew_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.lm.kept_texts.EVERY", 2.0)
    monkeypatch.setattr("engine.lm.kept_texts.FIRST", 10.0)
    now, path, text = 0.0, tmp_path / "kept.jsonl", Completion([1], [0.0], "a", "eos")
    kept = KeptTexts(path, lambda: now)
    for later, written in ((9.0, False), (10.0, True), (11.0, True)):
        now = later
        kept.add(f"at {later}", text)
        assert path.exists() == written
    kept.clear()
    for later, written in ((20.0, False), (21.0, True)):
        now = later
        kept.add(f"at {later}", text)
        assert path.exists() == written


def test_a_prompt_stays_its_callers(model: TransformersModel, tmp_path: Path) -> None:
    """What is written behind it is not put into its list."""
    first, second = [5, 6, 7], [8, 9]
    prefixes = KeepingModel(model, KeptTexts(tmp_path / "kept.jsonl")).open([first])
    for row in (0, prefixes.add(second)):
        (text,) = prefixes.branch([Branch(row, Sampling(2))])
        prefixes.extend(row, text)
    assert (first, second) == ([5, 6, 7], [8, 9])


def test_a_model_that_is_ended_ends_what_it_keeps_texts_of(tmp_path: Path) -> None:
    ended: list[str] = []
    theirs: Any = SimpleNamespace(info=None, tokenizer=None, close=lambda: ended.append("ended"))
    KeepingModel(theirs, KeptTexts(tmp_path / "kept.jsonl")).close()
    assert ended == ["ended"]


def test_a_prefix_that_is_closed_holds_no_memory(model: TransformersModel, tmp_path: Path) -> None:
    prefixes = keeping(model, tmp_path).open([[1, 2], [3]])
    prefixes.close([0])
    opened: Any = prefixes
    assert list(opened._tokens) == list(opened._prefixes._rows) == [1]


def test_other_requests_find_nothing(model: TransformersModel, tmp_path: Path) -> None:
    """Everything that decides a text is in its name: prompt, budget, temperature, stop, seed, steering, processor."""
    keeper = keeping(model, tmp_path)
    vector = np.ones(model.info.hidden_size, dtype=np.float32)
    base = Request([1, 2], Sampling(6, 1.0), seed=1)
    others = [
        Request([1, 3], Sampling(6, 1.0), seed=1),
        Request([1, 2], Sampling(5, 1.0), seed=1),
        Request([1, 2], Sampling(6, 0.5), seed=1),
        Request([1, 2], Sampling(6, 1.0, "e"), seed=1),
        Request([1, 2], Sampling(6, 1.0), seed=2),
        Request([1, 2], Sampling(6, 1.0), seed=1, steer=Steer(vector, 1, 3.0)),
        Request([1, 2], Sampling(6, 1.0), seed=1, steer=Steer(2 * vector, 1, 3.0)),
        Request([1, 2], Sampling(6, 1.0), seed=1, capture_layers=(1,), capture_after="e"),
    ]
    keeper.generate([base])
    for other in others:
        assert_same(keeper.generate([other]), model.generate([other]))
    processed = NamedProcessor(lambda written, logits: -logits, "negative")  # pyright: ignore[reportOperatorIssue]
    assert_same(
        keeper.generate([base], logits_processor=processed),
        model.generate([base], logits_processor=processed),
    )
    assert_same(keeper.generate([base]), model.generate([base]))


def test_whatever_decides_a_text_is_in_its_name(model: TransformersModel, tmp_path: Path) -> None:
    ones, prompt = np.ones(model.info.hidden_size, dtype=np.float32), (1, 2)
    steers = [
        None,
        *(Steer(*steer) for steer in ((ones, 1, 2.0), (ones, 0, 2.0), (ones, 1, -2.0), (-ones, 1, 2.0))),
    ]
    samplings = [
        Sampling(6, 1.0),
        Sampling(5, 1.0),
        Sampling(6, 0.5),
        Sampling(6, 1.0, "e"),
        Sampling(6, 1.0, "f"),
    ]
    requests = [
        Request(prompt, *rest)
        for rest in [
            *((sampling, 1, None) for sampling in samplings),
            *((samplings[0], 1, steer) for steer in steers[1:]),
            *((samplings[0], 1, None, layers, after) for layers in ((0,), (0, 1)) for after in ("e", "f")),
            (samplings[0], 2, None),
        ]
    ]
    names = {_digest(model.info, prompt, (_request(request), "")) for request in requests}
    assert len(names) == len(requests) == 14
    first = (_request(requests[0]), "")
    others = (replace(model.info, fingerprint="other"), replace(model.info, dtype="other"))
    names |= {_digest(info, prompt, first) for info in others}
    names |= {_digest(model.info, (2, 1), first), _digest(model.info, prompt, (first[0], "processor"))}
    assert len(names) == 18
    prefixes = cast("_KeepingPrefixes", keeping(model, tmp_path).open([[1, 2], [2, 1]]))
    begun = [None, *(Completion(list(tokens), [], "", "length") for tokens in ((4,), (5,)))]
    branches = [
        *(Branch(0, sampling) for sampling in samplings),
        *(Branch(0, samplings[0], steer) for steer in steers[1:]),
        *(Branch(0, samplings[0], continue_from=earlier) for earlier in begun[1:]),
        Branch(0, samplings[0], seed=2),
        Branch(1, samplings[0]),
    ]
    assert len({prefixes._name(branch) for branch in branches} - {""}) == len(branches) == 13
    unnamed = [
        Branch(0, samplings[0], processor=lambda written, logits: logits),
        Branch(0, samplings[0], steers[1], keep=True),
    ]
    assert [prefixes._name(branch) for branch in unnamed] == ["", ""]


def test_what_decides_no_text_is_not_in_its_name(model: TransformersModel, tmp_path: Path) -> None:
    """Whether key/values are wanted, in which type and memory a vector came, and what a prefix was built of."""
    ones, sampling = np.ones(model.info.hidden_size), Sampling(6)
    prefixes = cast("_KeepingPrefixes", keeping(model, tmp_path).open([[1, 2], [1]]))
    plain = prefixes._name(Branch(0, sampling))
    assert plain and prefixes._name(Branch(0, sampling, keep=True)) == plain
    assert prefixes._name(Branch(1, sampling)) != plain
    prefixes.extend(1, Completion([2], [-1.0], "", "length"))
    assert prefixes._name(Branch(1, sampling)) == plain
    assert prefixes._name(Branch(prefixes.add([1, 2]), sampling)) == plain
    vectors = (ones.astype(np.float32), ones, np.ones((model.info.hidden_size, 2))[:, 0])
    assert len({prefixes._name(Branch(0, sampling, Steer(vector, 1, 2.0))) for vector in vectors}) == 1  # type: ignore[arg-type]


def test_stored_results_empty_the_file(model: TransformersModel, tmp_path: Path) -> None:
    keeper = keeping(model, tmp_path)
    keeper.generate(random_requests(model, 5, count=6))
    assert (tmp_path / "kept.jsonl").exists() and len(keeper.kept)
    keeper.kept.clear()
    assert not (tmp_path / "kept.jsonl").exists() and not len(keeper.kept)


def test_what_was_not_written_before_the_results_were_stored_never_is(tmp_path: Path) -> None:
    kept = KeptTexts(tmp_path / "kept.jsonl", lambda: 0.0)
    kept._on_disk = True  # a later text waits for its turn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.lm.kept_texts.EVERY", 2.0)
        kept.add("old", Completion([1], [-1.0], "a", "stop"))
    kept.clear()
    kept.add("new", Completion([2], [-1.0], "b", "stop"))
    kept.write()
    again = KeptTexts(tmp_path / "kept.jsonl")
    assert again.find("old") is None and again.find("new") is not None


def test_many_short_calls_are_kept_as_one_long_one(
    model: TransformersModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ESM's decisions are hundreds of short calls between two results of the stage."""
    monkeypatch.setattr("engine.lm.kept_texts.FIRST", 10.0)
    monkeypatch.setattr("engine.lm.kept_texts.EVERY", 2.0)
    now = [0.0]
    keeper = KeepingModel(model, KeptTexts(tmp_path / "kept.jsonl", lambda: now[0]))
    now[0] = 50.0  # what came before the first call, such as loading, does not count
    found: list[int] = []
    for seed in range(26):
        keeper.generate([Request([1, 2], Sampling(3, 1.0), seed=seed)])
        now[0] += 0.5
        found.append(len(KeptTexts(tmp_path / "kept.jsonl")))
    assert found == [0] * 20 + [21] * 4 + [25] * 2


def test_a_stop_before_anything_is_finished_leaves_no_file(model: TransformersModel, tmp_path: Path) -> None:
    with pytest.raises(Killed):
        keeping(model, tmp_path, 1).generate([Request([1, 2], Sampling(9))])
    assert not (tmp_path / "kept.jsonl").exists()


@pytest.mark.parametrize("kill_after", [None, 30])
def test_what_took_a_moment_is_not_kept(
    model: TransformersModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill_after: int | None
) -> None:
    """Killed or not: it is decoded again with the same texts beside it, and to the same bits."""
    monkeypatch.setattr("engine.lm.kept_texts.FIRST", 1000.0)
    requests = random_requests(model, 6, count=24)
    with nullcontext() if kill_after is None else pytest.raises(Killed):
        keeping(model, tmp_path, kill_after).generate(requests)
    assert not (tmp_path / "kept.jsonl").exists()


@pytest.mark.parametrize("kill_after", [None, 12])
def test_each_text_is_reported_once_whether_it_was_found_or_written(
    model: TransformersModel, tmp_path: Path, kill_after: int | None
) -> None:
    """Also a continuation of a kept part that nothing is missing of."""
    requests = random_requests(model, 3, count=16)
    if kill_after is not None:
        with pytest.raises(Killed):
            keeping(model, tmp_path, kill_after).generate(requests)
    keeper, reported = keeping(model, tmp_path), list[tuple[int, list[int]]]()
    assert (len(keeper.kept) > 0) == (kill_after is not None)

    def finished(number: int, text: Completion) -> None:
        reported.append((number, text.tokens))

    done = keeper.generate(requests, finished=finished)
    assert sorted(reported) == [(number, text.tokens) for number, text in enumerate(done)]
    prefixes, reported[:] = keeper.open([[1, 2, 3], [4, 5]]), []
    whole = prefixes.branch([Branch(row, Sampling(3), keep=True) for row in (0, 1)], finished)
    onward = [Branch(row, Sampling(3), continue_from=whole[row]) for row in (0, 1)]
    again = prefixes.branch(onward, finished)
    assert [number for number, _ in reported] == [0, 1, 0, 1]
    assert [tokens for _, tokens in reported] == [text.tokens for text in [*whole, *again]]
