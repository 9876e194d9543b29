"""Texts under way when a call was ended: the next call goes on where they end, to what an undisturbed call writes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.lm.kept_texts import KeepingModel, KeptTexts, NamedProcessor, UnderWay
from engine.lm.protocol import Branch, Completion, Request, Sampling, Steer, Working
from engine.lm.transformers.model import TransformersModel
from engine.lm.transformers.network import Network
from tests.engine.lm.conftest import Pair
from tests.engine.lm.same import assert_same
from tests.engine.lm.test_generate import only, random_requests


class Stopped(BaseException):
    """As a user's stop, or Ctrl-C, which is no `Exception`: the call is left between two passes."""


class Worker:
    """A model that is stopped before a pass, counted from 1; it counts what it writes."""

    def __init__(self, model: TransformersModel, stop_at: int | None = None) -> None:
        self.model = TransformersModel(model.network, model.tokenizer, model.info, max_num_seqs=4)
        self.model.between = self._between
        self.tokens = 0
        self._passes = 0
        self._stop_at = stop_at

    def _between(self, call: object, working: Callable[[], Working]) -> None:
        self._passes += 1
        self.tokens = max(self.tokens, working().tokens)
        if self._passes == self._stop_at:
            raise Stopped


@pytest.fixture
def model(pair: Callable[[str], Pair]) -> TransformersModel:
    return pair("qwen2")[0]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.lm.kept_texts.FIRST", 0.0)


def left(model: TransformersModel, requests: Sequence[Request], stop_at: int) -> list[Request]:
    """The requests that were not through when a call was stopped, each with what it had begun; then those that were."""
    done: dict[int, Completion] = {}
    begun: dict[int, Completion] = {}
    with pytest.raises(Stopped):
        Worker(model, stop_at).model.generate(
            requests, finished=done.__setitem__, unfinished=begun.__setitem__
        )
    assert not done.keys() & begun.keys()
    return [replace(request, begun=begun.get(i)) for i, request in enumerate(requests)]


@pytest.mark.parametrize("architecture", ["qwen2", "gpt2", "gemma2"])
@pytest.mark.parametrize("stop_at", [3, 9, 17, 31])
def test_a_text_goes_on_where_it_was_left(
    pair: Callable[[str], Pair], architecture: str, stop_at: int
) -> None:
    """Sampled, steered, with stop strings and states, in a batch that rows join and leave."""
    model = pair(architecture)[0]
    requests = random_requests(model, 7, count=20)
    again = left(model, requests, stop_at)
    assert any(request.begun for request in again)
    assert_same(model.generate(again), model.generate(requests))


def test_whatever_a_text_can_be_left_in_occurs(model: TransformersModel) -> None:
    """Steered or not, in the middle of a segment or with the state of its last token still to be read, also of a text
    that has ended; after one token."""
    begun = [
        request
        for seed in range(8)
        for stop_at in (2, 3, 6, 11, 23)
        for request in left(model, random_requests(model, seed, count=16), stop_at)
        if request.begun is not None
    ]
    texts = [request.begun for request in begun if request.begun is not None]
    pending = [text for text in texts if text.states is not None and len(text.state_ends) > len(text.states)]
    assert any(request.steer for request in begun) and any(text.state_ends for text in texts)
    assert {text.ended != "" for text in pending} == {True, False}
    assert min(len(text.tokens) for text in texts) == 1
    assert_same(model.generate(begun), model.generate([replace(request, begun=None) for request in begun]))


def test_a_text_whose_end_stops_the_call_is_not_under_way(model: TransformersModel) -> None:
    """The first has one token to write, the second five."""
    done: list[int] = []
    begun: dict[int, Completion] = {}

    def finished(number: int, text: Completion) -> None:
        done.append(number)
        raise Stopped

    requests = [Request([1, 2], Sampling(1)), Request([3, 4], Sampling(5))]
    with pytest.raises(Stopped):
        model.generate(requests, logits_processor=only(5), finished=finished, unfinished=begun.__setitem__)
    assert done == [0] and begun.keys() == {1} and begun[1].tokens == [5]


def test_a_pause_is_let_in_before_each_pass_over_texts_that_go_on(
    model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prompt, what is written, and each further token."""
    request = Request([1, 2], Sampling(6))
    (whole,) = model.generate([request], logits_processor=only(5))
    begun = Completion(whole.tokens[:3], whole.logprobs[:3], "", "")
    done: list[str] = []
    for name in ("prefill", "step"):
        run = getattr(Network, name)
        monkeypatch.setattr(
            Network, name, lambda *args, name=name, run=run: (done.append(name), run(*args))[1]
        )
    worker = Worker(model)
    worker.model.between = lambda call, working: done.append("between")
    (found,) = worker.model.generate([replace(request, begun=begun)], logits_processor=only(5))
    assert found.tokens == whole.tokens
    passes = ["prefill", "prefill", "step", "step", "step"]
    assert [name for name in done if name != "between"] == passes
    assert all(done[at - 1] == "between" for at, name in enumerate(done) if name != "between")


def test_what_was_left_is_not_changed_by_going_on(model: TransformersModel) -> None:
    needle = model.tokenizer.decode([5])
    request = Request([1, 2], Sampling(6), capture_layers=(1,), capture_after=needle)
    begun: dict[int, Completion] = {}
    with pytest.raises(Stopped):
        Worker(model, 5).model.generate([request], logits_processor=only(5), unfinished=begun.__setitem__)
    (whole,) = model.generate([replace(request, begun=begun[0])], logits_processor=only(5))
    assert (begun[0].tokens, begun[0].state_ends) == ([5] * 3, [1, 2, 3])
    assert (whole.tokens, whole.state_ends) == ([5] * 6, [1, 2, 3, 4, 5, 6])


def keeping(worker: Worker, folder: Path) -> KeepingModel:
    return KeepingModel(worker.model, KeptTexts(folder / "kept.jsonl"))


def test_stopped_twice_and_killed_it_writes_each_token_once(model: TransformersModel, tmp_path: Path) -> None:
    requests = random_requests(model, 3, count=16)
    undisturbed = Worker(model)
    whole = undisturbed.model.generate(requests)
    written = 0
    for stop_at in (9, 14):
        worker = Worker(model, stop_at)
        with pytest.raises(Stopped):
            keeping(worker, tmp_path).generate(requests)
        written += worker.tokens
    killed = keeping(Worker(model), tmp_path)
    assert len(killed.kept) and "begun" in killed.kept.in_words()
    last = Worker(model)
    assert_same(keeping(last, tmp_path).generate(requests), whole)
    assert written + last.tokens == undisturbed.tokens


def test_what_was_under_way_is_told(model: TransformersModel, tmp_path: Path) -> None:
    """Four rows of eight; the first pass reads the prompts and gives each its first token, each later one one more."""
    requests = [Request([1, 2, 3], Sampling(40, 1.0), seed=seed) for seed in range(8)]
    keeper = keeping(Worker(model, 7), tmp_path)
    assert keeper.kept.under_way == UnderWay()
    told: dict[int, Completion] = {}
    with pytest.raises(Stopped):
        keeper.generate(requests, unfinished=told.__setitem__)
    tokens = [len(text.tokens) for text in told.values()]
    assert keeper.kept.under_way == UnderWay(len(tokens), sum(tokens), kept=True)
    again = KeptTexts(tmp_path / "kept.jsonl")
    assert again.in_words() == f"{len(tokens)} begun ({sum(tokens)} tokens)"
    keeper.model = model
    assert len(keeper.generate(requests)) == 8 and keeper.kept.under_way == UnderWay()


def test_what_took_a_moment_or_cannot_be_named_is_written_again(
    model: TransformersModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [Request([1, 2, 3], Sampling(40, 1.0), seed=seed) for seed in range(3)]
    unnamed = keeping(Worker(model, 5), tmp_path)
    with pytest.raises(Stopped):
        unnamed.generate(requests, logits_processor=lambda written, logits: logits)
    assert unnamed.kept.under_way == UnderWay(3, 9, kept=False)
    monkeypatch.setattr("engine.lm.kept_texts.FIRST", 1000.0)
    short = keeping(Worker(model, 5), tmp_path)
    with pytest.raises(Stopped):
        short.generate(requests)
    assert short.kept.under_way == UnderWay(3, 9, kept=False)
    assert not (tmp_path / "kept.jsonl").exists()


def test_a_processor_sees_the_text_from_its_beginning(model: TransformersModel, tmp_path: Path) -> None:
    seen: list[list[int]] = []

    def watch(written: Sequence[Sequence[int]], logits: object) -> object:
        seen.extend(list(row) for row in written)
        assert isinstance(logits, torch.Tensor)
        return logits * (1 + len(written[0]) % 3)

    requests = [Request([1, 2, 3], Sampling(12, 1.0), seed=5)]
    process = NamedProcessor(watch, "watch")
    whole = model.generate(requests, logits_processor=watch)
    with pytest.raises(Stopped):
        keeping(Worker(model, 6), tmp_path).generate(requests, logits_processor=process)
    seen.clear()
    assert_same(keeping(Worker(model), tmp_path).generate(requests, logits_processor=process), whole)
    assert seen[0] == whole[0].tokens[:4]


@pytest.mark.parametrize("stop_at", [4, 9, 12, 17, 22, 25])
def test_continuations_of_open_prefixes_go_on(model: TransformersModel, tmp_path: Path, stop_at: int) -> None:
    """A null probe, a steered probe, the commit that goes on from the null probe and whose key/values the prefix
    takes over."""
    vector = np.ones(model.info.hidden_size, dtype=np.float32)

    def decode(keeper: KeepingModel | TransformersModel) -> list[Completion]:
        prefixes = keeper.open([[1, 2, 3], [4, 5]])
        results: list[Completion] = []
        for _ in range(2):
            null = prefixes.branch([Branch(row, Sampling(3), keep=True) for row in (0, 1)])
            steered = [Branch(row, Sampling(5, 1.0), Steer(vector, 1, 2.0), seed=row) for row in (0, 1)]
            commits = [Branch(row, Sampling(9), continue_from=null[row], keep=True) for row in (0, 1)]
            results += [*null, *prefixes.branch(steered), *(committed := prefixes.branch(commits))]
            for row in (0, 1):
                prefixes.extend(row, committed[row])
        return results

    whole = decode(model)
    with pytest.raises(Stopped):
        decode(keeping(Worker(model, stop_at), tmp_path))
    assert_same(decode(keeping(Worker(model), tmp_path)), whole)


def test_a_branch_that_was_begun_writes_what_is_missing_alone(model: TransformersModel) -> None:
    (whole,) = model.open([[5, 6, 7]]).branch([Branch(0, Sampling(9), processor=only(5))])
    begun = Completion(whole.tokens[:6], whole.logprobs[:6], "", "")
    worker = Worker(model)
    branch = Branch(0, Sampling(9), processor=only(5), begun=begun)
    assert_same(worker.model.open([[5, 6, 7]]).branch([branch]), [whole])
    assert worker.tokens == 9 - 6 - 1, "the last token is told by its end"


def test_a_continuation_under_way_is_told_by_its_number_beside_one_that_is_whole(
    model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model.tokenizer, "eos_token_ids", frozenset())
    worker = Worker(model)
    prefixes = worker.model.open([[5, 6, 7]])
    (whole,) = prefixes.branch([Branch(0, Sampling(3), keep=True)])
    worker._stop_at = worker._passes + 4
    done, begun = dict[int, Completion](), dict[int, Completion]()
    with pytest.raises(Stopped):
        prefixes.branch(
            [Branch(0, Sampling(3), continue_from=whole), Branch(0, Sampling(9))],
            finished=done.__setitem__,
            unfinished=begun.__setitem__,
        )
    assert (
        [*done] == [0] and [*begun] == [1] and begun[1].tokens == whole.tokens[: len(begun[1].tokens)] != []
    )


def test_a_foreign_record_is_not_gone_on_with(tmp_path: Path) -> None:
    kept = KeptTexts(tmp_path / "kept.jsonl")
    for name, tokens in (("none", []), ("long", [1] * 5), ("right", [1] * 4)):
        kept.leave([(name, Completion(tokens, [-1.0] * len(tokens), "", ""))])
    again = KeptTexts(tmp_path / "kept.jsonl")
    assert [again.begun(name, Sampling(4)) is None for name in ("none", "long", "right", "other")] == [
        True,
        True,
        False,
        True,
    ]
    assert again.find("right") is None


def test_what_is_kept_is_told_in_words(tmp_path: Path) -> None:
    """Finished texts apart from begun ones, and what there is none of is left out."""

    def text(count: int) -> Completion:
        return Completion([1] * count, [-1.0] * count, "", "")

    seconds = itertools.count(0.0, 10.0)
    kept = KeptTexts(tmp_path / "kept.jsonl", lambda: next(seconds))
    assert kept.in_words() == ""
    kept.leave([("a", text(3)), ("b", text(1200))])
    assert kept.in_words() == "2 begun (1,203 tokens)"
    kept.add("c", text(7))
    assert kept.in_words() == "1 finished, 2 begun (1,203 tokens)"
    kept.add("a", text(5))
    assert kept.in_words() == "2 finished, 1 begun (1,200 tokens)"
    kept.add("b", text(1201))
    assert kept.in_words() == "3 finished"


@pytest.mark.parametrize(
    ("names", "kept", "written"), [("ab", True, 2), ("a ", False, 1), (" b", False, 1), ("  ", False, 0)]
)
def test_texts_under_way_are_kept_where_each_has_a_name(
    names: str, kept: bool, written: int, tmp_path: Path
) -> None:
    texts = KeptTexts(tmp_path / "kept.jsonl")
    one = Completion([1, 2], [-1.0, -2.0], "", "")
    texts.leave([(name.strip(), one) for name in names])
    assert texts.under_way == UnderWay(texts=2, tokens=4, kept=kept)
    assert texts.in_words() == (f"{written} begun ({2 * written} tokens)" if written else "")


def test_what_is_worth_keeping_counts_from_the_beginning_of_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stage that stores results in the middle of a call leaves other texts under way, however old they are."""
    monkeypatch.setattr("engine.lm.kept_texts.FIRST", 10.0)
    now, text = [100.0], [("name", Completion([1, 2], [-1.0, -2.0], "", ""))]
    kept = KeptTexts(tmp_path / "kept.jsonl", lambda: now[0])
    now[0] = 150.0  # loading the model does not count
    kept.begin()
    for seconds, is_kept in ((9.0, False), (10.0, True)):
        now[0] = 150.0 + seconds
        kept.clear()
        kept.leave(text)
        assert kept.under_way == UnderWay(1, 2, is_kept)
    kept.begin()
    kept.leave(text)
    assert kept.under_way.kept, "the file is there: what is missing in it would be decoded in other company"


def gone_on_with_breaks(model: TransformersModel, request: Request, stop_at: int) -> Completion:
    """A text of line breaks alone that was left before a pass."""
    (line_break,) = model.tokenizer.encode("\n")

    def breaks(written: Sequence[Sequence[int]], logits: object) -> object:
        assert isinstance(logits, torch.Tensor)
        only = torch.full_like(logits, -100.0)
        only[:, line_break] = 0.0
        return only

    begun: dict[int, Completion] = {}
    with pytest.raises(Stopped):
        Worker(model, stop_at).model.generate(
            [request], logits_processor=breaks, unfinished=begun.__setitem__
        )
    (text,) = model.generate([replace(request, begun=begun[0])], logits_processor=breaks)
    return text


@pytest.mark.parametrize("stop_at", [5, 6, 7, 8])
def test_a_segment_counts_from_the_end_of_the_last_one(model: TransformersModel, stop_at: int) -> None:
    """Line breaks alone, and a segment ends after two: in the middle of the text, too, no break counts twice."""
    request = Request([1, 2], Sampling(12), capture_layers=(1,), capture_after="\n\n")
    text = gone_on_with_breaks(model, request, stop_at)
    assert text.state_ends == [2, 4, 6, 8, 10, 12] and text.states is not None and len(text.states) == 6


@pytest.mark.parametrize("stop_at", [3, 4, 5])
def test_a_stop_string_may_begin_before_a_segment_ends(model: TransformersModel, stop_at: int) -> None:
    """Each line break ends a segment; the text ends at its fourth."""
    request = Request([1, 2], Sampling(9, stop="\n\n\n\n"), capture_layers=(1,), capture_after="\n")
    text = gone_on_with_breaks(model, request, stop_at)
    assert (text.text, text.ended, text.state_ends) == ("\n" * 4, "stop", [1, 2, 3, 4])
