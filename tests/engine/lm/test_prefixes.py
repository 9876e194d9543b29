"""Shared prefixes do what recomputing every prefix from its tokens does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from engine.errors import ModelError
from engine.lm.continuation import cut, earlier_end, is_whole
from engine.lm.protocol import (
    Branch,
    Completion,
    LanguageModel,
    Prefixes,
    Request,
    Sampling,
    Steer,
    Working,
)
from engine.lm.transformers.model import TransformersModel
from tests.engine.lm.conftest import Pair
from tests.engine.lm.same import assert_same
from tests.exactly import exactly


class Walk:
    """The same random segments on two `Prefixes`: states, branches, commits continued or new, extensions."""

    def __init__(
        self,
        model: LanguageModel,
        literal: Any,
        seed: int,
        rows: int = 5,
        longest: int = 24,
        tolerance: float = 1e-5,
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.info = model.info
        self.tolerance = tolerance
        self.temperature = 1.0 if seed % 3 == 0 else 0.0
        prompts = [
            self.rng.integers(1, self.info.vocab_size, int(self.rng.integers(1, longest + 1))).tolist()
            for _ in range(rows)
        ]
        self.literal = literal
        self.texts = [[*prompt] for prompt in prompts]
        self.both: tuple[Prefixes, Prefixes] = (model.open(prompts), literal.open(prompts))
        self.rows = list(range(rows))

    def steer(self) -> Steer:
        vector = self.rng.normal(size=self.info.hidden_size).astype(np.float32)
        layer = int(self.rng.integers(self.info.num_layers))
        return Steer(vector, layer, 1.5 if layer else -1.5)

    def branch(self, branches: list[tuple[Branch, Branch]]) -> tuple[list[Completion], list[Completion]]:
        ours = self.both[0].branch([branch for branch, _ in branches])
        self.literal.guesses = [
            [*self.texts[branch.row], *one.tokens] for (branch, _), one in zip(branches, ours, strict=True)
        ]
        theirs = self.both[1].branch([branch for _, branch in branches])
        assert_same(ours, theirs, self.tolerance, 10 * self.tolerance)
        return ours, theirs

    def segment(self) -> None:
        layers = [2, 0]
        ours, theirs = (prefixes.states(self.rows, layers) for prefixes in self.both)
        np.testing.assert_allclose(ours, theirs, atol=10 * self.tolerance, rtol=1e-5)
        probes = self.branch([(probe, probe) for row in self.rows for probe in self.probes(row)])
        commits = [
            self.commit(row, probes[0][3 * i : 3 * i + 3], probes[1][3 * i : 3 * i + 3])
            for i, row in enumerate(self.rows)
        ]
        done = self.branch(commits)
        for row, (branch, _), mine, reference in zip(self.rows, commits, *done, strict=True):
            assert (mine.kept is not None) == branch.keep
            self.texts[row] += mine.tokens
            self.both[0].extend(row, mine)
            self.both[1].extend(row, reference)

    def probes(self, row: int) -> list[Branch]:
        """The null probe and two steered ones; the last is kept too."""
        sampling = Sampling(int(self.rng.integers(1, 9)), self.temperature)
        return [
            Branch(row, sampling, None if k == 0 else self.steer(), seed=row, keep=k != 1) for k in range(3)
        ]

    def commit(self, row: int, ours: list[Completion], theirs: list[Completion]) -> tuple[Branch, Branch]:
        stop = [None, "e", "\n"][int(self.rng.integers(3))]
        sampling = Sampling(int(self.rng.integers(0, 20)), self.temperature, stop)
        keep = bool(self.rng.integers(2))
        which = int(self.rng.integers(4))
        if which in (0, 2):
            first, second = (
                Branch(row, sampling, seed=row, continue_from=probes[which], keep=keep)
                for probes in (ours, theirs)
            )
            return first, second
        fresh = Branch(row, sampling, self.steer() if which == 1 else None, seed=row, keep=keep)
        return fresh, fresh

    def close_first(self) -> None:
        for prefixes in self.both:
            prefixes.close(self.rows[:1])
        self.rows = self.rows[1:]


@pytest.mark.parametrize("architecture", ["qwen2", "llama", "gpt2", "gemma2", "mistral"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_fast_equals_literal(pair: Callable[[str], Pair], architecture: str, seed: int) -> None:
    model, literal = pair(architecture)
    if seed == 2:
        model = TransformersModel(model.network, model.tokenizer, model.info, max_num_seqs=3)
    walk = Walk(model, literal, seed)
    for _ in range(4):
        walk.segment()
    walk.close_first()
    walk.segment()


def counted(model: TransformersModel, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """(rows, tokens a row) of every pass from now on."""
    passes: list[tuple[int, int]] = []
    run = model.network._run

    def counting(tokens: Any, *rest: Any) -> Any:
        passes.append((tokens.shape[0], tokens.shape[1]))
        return run(tokens, *rest)

    monkeypatch.setattr(model.network, "_run", counting)
    return passes


def test_passes_of_a_segment(pair: Callable[[str], Pair], monkeypatch: pytest.MonkeyPatch) -> None:
    """States, probes and commit run the prefix once; the earlier part is not decoded again."""
    model, _ = pair("qwen2")
    prefixes = model.open([[5, 6, 7, 8], [9, 10, 11]])
    passes = counted(model, monkeypatch)
    prefixes.states([0, 1], [1])
    assert passes == [(2, 4)]
    steer = Steer(np.ones(model.info.hidden_size, np.float32), 1, 0.5)
    probes = prefixes.branch(
        [Branch(row, Sampling(4), steer if k else None, keep=not k) for row in (0, 1) for k in range(2)]
    )
    assert [len(probe.tokens) for probe in probes] == [4, 4, 4, 4]
    # Null probes have their first token at once: they need a pass less and leave the batch before the last.
    assert passes[1:] == [(4, 1), (4, 1), (4, 1), (2, 1)]
    passes.clear()
    commits = prefixes.branch(
        [
            Branch(0, Sampling(6), continue_from=probes[0], keep=True),
            Branch(1, Sampling(4), continue_from=probes[2], keep=True),
        ]
    )
    assert passes == [(1, 1), (1, 1)], "two more tokens for one, none for the other"
    for row, commit in enumerate(commits):
        prefixes.extend(row, commit)
    passes.clear()
    prefixes.states([0, 1], [1])
    assert passes == [(2, 1)], "only the last sampled token has not been fed"


def test_steered_commits_start_the_next_segment_unsteered(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("qwen2")
    prompt = [5, 6, 7]
    steer = Steer(np.ones(model.info.hidden_size, np.float32), 0, 3.0)
    prefixes = model.open([prompt])
    (commit,) = prefixes.branch([Branch(0, Sampling(5), steer)])
    prefixes.extend(0, commit)
    whole = [*prompt, *commit.tokens]
    (plain,) = model.states([whole], [[-1]], [0, 1, 2])
    np.testing.assert_allclose(prefixes.states([0], [0, 1, 2])[0], plain[0], atol=1e-5)

    carried = model.open([prompt])
    (commit,) = carried.branch([Branch(0, Sampling(5), steer, keep=True)])
    carried.extend(0, commit)
    assert np.abs(carried.states([0], [2])[0] - plain[0, 2]).max() > 1e-3


def test_kept_values_fit_only_their_prefix(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("qwen2")
    prefixes = model.open([[5, 6, 7], [5, 6, 7]])
    (kept,) = prefixes.branch([Branch(0, Sampling(3), keep=True)])
    (lost,) = prefixes.branch([Branch(0, Sampling(3))])
    said = "these key/values continue an earlier or another prefix than row 1 is now"
    with pytest.raises(ValueError, match=exactly(said)):
        prefixes.branch([Branch(1, Sampling(5), continue_from=kept)])
    said = "this continuation of row 0 was not kept: branch it with `keep`"
    with pytest.raises(ValueError, match=exactly(said)):
        prefixes.branch([Branch(0, Sampling(5), continue_from=lost)])
    prefixes.extend(0, kept)
    said = "row 0 has not run yet, so no kept key/values can belong to it"
    with pytest.raises(ValueError, match=exactly(said)):
        prefixes.extend(0, kept)


def test_a_row_is_dropped_once_and_its_number_is_not_given_again(pair: Callable[[str], Pair]) -> None:
    prefixes = pair("qwen2")[0].open([[5, 6], [7]])
    for _ in range(2):
        prefixes.close([0])
    assert prefixes.add([8]) == 2
    assert prefixes.states([1, 2], [0]).shape[0] == 2


def test_an_empty_prompt_is_refused(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("qwen2")
    with pytest.raises(ValueError, match=exactly("prompt 1 is empty: there is no token to continue")):
        model.open([[1], []])


def test_states_of_no_prefix(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("qwen2")
    none = model.open([[1]]).states([], [0, 2])
    assert (none.shape, none.dtype) == ((0, 2, model.info.hidden_size), np.float32)


def test_a_continuation_of_nothing_begins_at_the_prefix(pair: Callable[[str], Pair]) -> None:
    """A text without tokens has no key/values: there is nothing that could be gone on with, and nothing to append."""
    model, _ = pair("qwen2")
    prefixes = model.open([[5, 6, 7]])
    (nothing,) = prefixes.branch([Branch(0, Sampling(0), keep=True)])
    assert (nothing.tokens, nothing.kept) == ([], None)
    prefixes.extend(0, nothing)
    fresh, onward = (
        prefixes.branch([Branch(0, Sampling(4), continue_from=earlier)]) for earlier in (None, nothing)
    )
    assert_same(onward, fresh)


def test_what_is_whole_already_is_given_as_it_is_and_told(pair: Callable[[str], Pair]) -> None:
    """With its key/values where they are wanted; each branch is told by its own number."""
    model, _ = pair("qwen2")
    ends, model.tokenizer.eos_token_ids = model.tokenizer.eos_token_ids, frozenset()
    try:
        prefixes, told = model.open([[5, 6, 7]]), dict[int, Completion]()
        (whole,) = prefixes.branch([Branch(0, Sampling(3), keep=True)])
        branches = [
            Branch(0, Sampling(2)),
            Branch(0, Sampling(3), continue_from=whole),
            Branch(0, Sampling(4)),
            Branch(0, Sampling(3), continue_from=whole, keep=True),
        ]
        done = prefixes.branch(branches, told.__setitem__)
    finally:
        model.tokenizer.eos_token_ids = ends
    assert [done[number] for number in (1, 3)] == [replace(whole, kept=None), whole]
    assert [len(done[number].tokens) for number in (0, 2)] == [2, 4]
    assert list(told) == [1, 3, 0, 2] and all(told[number] is text for number, text in enumerate(done))


def test_kept_values_do_not_fit_a_prefix_that_has_grown(pair: Callable[[str], Pair]) -> None:
    """Also once the prefix has run again: places and earlier tokens are others now."""
    model, _ = pair("qwen2")
    prefixes = model.open([[5, 6, 7]])
    first, second = prefixes.branch([Branch(0, Sampling(3), keep=True), Branch(0, Sampling(4), keep=True)])
    prefixes.extend(0, first)
    prefixes.states([0], [0])
    with pytest.raises(ValueError, match="another prefix"):
        prefixes.branch([Branch(0, Sampling(9), continue_from=second)])


def test_no_continuation_of_a_prefix_leaves_the_context(pair: Callable[[str], Pair]) -> None:
    """As with `generate`: a segment ends where the context does, and the next one has no room left."""
    model, _ = pair("qwen2")
    short = TransformersModel(model.network, model.tokenizer, replace(model.info, context=12))
    prefixes, whole = short.open([[1] * 9, [1] * 11]), model.open([[1] * 9])
    steer = Steer(np.ones(model.info.hidden_size, np.float32), 0, 1.0)
    cut = prefixes.branch(
        [Branch(0, Sampling(8), keep=True), Branch(0, Sampling(8), steer), Branch(1, Sampling(8))]
    )
    free = whole.branch([Branch(0, Sampling(8)), Branch(0, Sampling(8), steer)])
    assert [completion.tokens for completion in cut[:2]] == [completion.tokens[:3] for completion in free]
    assert [(len(completion.tokens), completion.ended) for completion in cut] == [(3, "length")] * 2 + [
        (1, "length")
    ]
    (begun,) = prefixes.branch([Branch(0, Sampling(2), keep=True)])
    (gone_on,) = prefixes.branch([Branch(0, Sampling(4), continue_from=begun)])
    assert gone_on.tokens == cut[0].tokens
    prefixes.extend(0, cut[0])
    (empty,) = prefixes.branch([Branch(0, Sampling(4))])
    assert (empty.tokens, empty.ended) == ([], "length")
    with pytest.raises(ModelError, match="a prompt of 12 tokens leaves no room in a context of 12"):
        short.open([[1] * 12])


class Letters:
    """Where a letter stands; a token is a letter's place in the alphabet."""

    def __init__(self, letter: str) -> None:
        self.letter = letter

    def first_end(self, tokens: Sequence[int]) -> int | None:
        text = "".join(chr(ord("a") + token) for token in tokens)
        return text.index(self.letter) + 1 if self.letter in text else None


@pytest.mark.parametrize(
    ("ended", "budget", "stop", "end", "whole"),
    [
        ("length", 9, None, None, False),
        ("length", 9, "c", (3, "stop"), True),
        ("length", 3, "c", (3, "stop"), True),  # the last token of the budget completes it
        ("length", 2, "c", (2, "length"), True),
        ("length", 4, None, (4, "length"), True),
        ("length", 3, None, (3, "length"), True),
        ("stop", 9, None, None, False),  # it ended at another string: with none, or a further one, it goes on
        ("stop", 9, "x", None, False),
        ("stop", 4, None, (4, "length"), True),
        ("eos", 9, None, None, True),
        ("eos", 4, None, None, True),  # the end-of-text token is the last of the budget
        ("eos", 3, None, (3, "length"), True),
        ("eos", 9, "d", None, True),  # the end-of-text token is no text in which a string could stand
        ("eos", 9, "c", (3, "stop"), True),
    ],
)
def test_where_an_earlier_part_ends_under_other_limits(
    ended: str, budget: int, stop: str | None, end: tuple[int, str] | None, whole: bool
) -> None:
    """Of four tokens, a to d, by hand: as one continuation from the start would have ended."""
    earlier = Completion([0, 1, 2, 3], [-1.0] * 4, "abcd", ended)
    sampling = Sampling(budget, stop=stop)
    found = earlier_end(earlier, sampling, Letters)  # pyright: ignore[reportArgumentType]
    assert found == end
    branch = Branch(0, sampling, continue_from=earlier)
    part = earlier if end is None else replace(earlier, tokens=earlier.tokens[: end[0]], ended=end[1])
    assert is_whole(part, branch) is whole


def test_the_beginning_of_a_continuation_is_one_of_its_own() -> None:
    earlier = Completion([0, 1, 2], [-1.0, -2.0, -3.0], "abc", "eos", kept="all")
    tokenizer: Any = SimpleNamespace(decode=lambda tokens: "".join(chr(ord("a") + token) for token in tokens))
    part = cut(earlier, 2, "stop", tokenizer, "two")
    assert (part, part.kept) == (Completion([0, 1], [-1.0, -2.0], "ab", "stop"), "two")
    assert earlier == Completion([0, 1, 2], [-1.0, -2.0, -3.0], "abc", "eos")
    assert cut(earlier, 0, "length", tokenizer, None) == Completion([], [], "", "length")


def test_branches_are_processed_by_their_own_processors_alone(pair: Callable[[str], Pair]) -> None:
    """Two processors and none in one batch, each of them told its own rows' tokens: as each branch alone."""
    model, _ = pair("qwen2")

    def without(token: int) -> Any:
        def process(written: Sequence[Sequence[int]], logits: Any) -> Any:
            logits = logits.clone()
            for row, tokens in enumerate(written):
                logits[row, [token, *tokens]] = -torch.inf
            return logits

        return process

    prompts = [[5, 6, 7], [8, 9], [10, 11, 12, 13]]
    firsts = [
        completion.tokens[0] for completion in model.generate([Request(p, Sampling(1)) for p in prompts])
    ]
    one, other = without(firsts[0]), without(firsts[1])
    branches = [
        Branch(2, Sampling(1))
    ]  # it leaves first: rows of the batch are no longer numbered as branches
    branches += [Branch(row, Sampling(6), processor=how) for row, how in enumerate((one, other, None))]
    branches += [Branch(1, Sampling(6), processor=one), Branch(0, Sampling(6))]
    together = model.open(prompts).branch(branches)
    assert_same(together, [model.open(prompts).branch([branch])[0] for branch in branches])
    begun = [completion.tokens[0] for completion in together]
    assert begun[1] != firsts[0] and begun[2] != firsts[1]
    assert (begun[0], begun[3], begun[5]) == (firsts[2], firsts[2], firsts[0])


def test_what_is_told_of_a_continuation_counts_new_tokens_alone(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("qwen2")
    model = TransformersModel(model.network, model.tokenizer, model.info)
    prefixes = model.open([[5, 6, 7]])
    (begun,) = prefixes.branch([Branch(0, Sampling(5), keep=True)])
    told: list[Working] = []
    model.between = lambda call, working: told.append(working())
    prefixes = model.open([[5, 6, 7]])
    (begun,) = prefixes.branch([Branch(0, Sampling(5), keep=True)])
    told.clear()
    (whole,) = prefixes.branch([Branch(0, Sampling(9), continue_from=begun)])
    assert told[0].tokens == 0 and told[-1].tokens == len(whole.tokens) - len(begun.tokens) - 1
    assert told[-1].text == model.tokenizer.decode(whole.tokens[:-1])


def test_what_is_told_while_states_are_read_and_a_text_is_scored(pair: Callable[[str], Pair]) -> None:
    """Before each pass; a sequence that no state is read of is none of those at work."""
    model, _ = pair("qwen2")
    model = TransformersModel(model.network, model.tokenizer, model.info)
    told: list[Working] = []
    model.between = lambda call, working: told.append(working())
    model.states([[5, 6], [7], [8]], [[1], [0], []], [0])
    assert set(told) == {Working(2, 0, 0, "")}
    told.clear()
    model.score([5, 6, 7], 1)
    assert set(told) == {Working(1, 0, 0, "")}
    told.clear()
    model.open([[5, 6], [7]]).states([0, 1], [0])
    assert told == [Working(2, 0, 0, "")]


@pytest.mark.parametrize("tokens", [1, 2, 4])
def test_a_kept_part_goes_on_as_if_it_had_not_been_left(pair: Callable[[str], Pair], tokens: int) -> None:
    """An only token came from the prefix's own pass: what is kept is the prefix's last token."""
    model, _ = pair("qwen2")
    prefixes = model.open([[5, 6, 7]])
    (fresh,) = prefixes.branch([Branch(0, Sampling(6))])
    (begun,) = prefixes.branch([Branch(0, Sampling(tokens), keep=True)])
    assert len(begun.tokens) == tokens
    assert_same(prefixes.branch([Branch(0, Sampling(6), continue_from=begun)]), [fresh])
    prefixes.extend(0, begun)
    (plain,) = model.states([[5, 6, 7, *begun.tokens]], [[-1]], [0, 2])
    np.testing.assert_allclose(prefixes.states([0], [0, 2])[0], plain[0], atol=1e-5)


def test_all_that_is_appended_before_a_pass_is_run(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("qwen2")
    grown, whole = model.open([[5, 9, 3]]), model.open([[5, 9, 3, 17, 8, 30]])
    for tokens in ([17, 8], [30]):
        grown.extend(0, Completion(tokens, [0.0] * len(tokens), "", "length"))
    np.testing.assert_allclose(grown.states([0], [0, 2]), whole.states([0], [0, 2]), atol=1e-4)
