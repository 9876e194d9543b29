"""Shared prefixes do what recomputing every prefix from its tokens does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.lm.protocol import Branch, Completion, LanguageModel, Prefixes, Sampling, Steer
from engine.lm.transformers.model import TransformersModel
from tests.engine.lm.conftest import Pair
from tests.engine.lm.same import assert_same


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
        self.both: tuple[Prefixes, Prefixes] = (model.open(prompts), literal.open(prompts))
        self.rows = list(range(rows))

    def steer(self) -> Steer:
        vector = self.rng.normal(size=self.info.hidden_size).astype(np.float32)
        return Steer(vector, int(self.rng.integers(self.info.num_layers)), 1.5)

    def branch(self, branches: list[tuple[Branch, Branch]]) -> tuple[list[Completion], list[Completion]]:
        ours = self.both[0].branch([branch for branch, _ in branches])
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
    with pytest.raises(ValueError, match="another prefix"):
        prefixes.branch([Branch(1, Sampling(5), continue_from=kept)])
    with pytest.raises(ValueError, match="not kept"):
        prefixes.branch([Branch(0, Sampling(5), continue_from=lost)])
    prefixes.extend(0, kept)
    with pytest.raises(ValueError, match=r"another prefix|not run"):
        prefixes.extend(0, kept)


def test_an_empty_prompt_is_refused(pair: Callable[[str], Pair]) -> None:
    model, _ = pair("qwen2")
    with pytest.raises(ValueError, match="prompt 1 is empty"):
        model.open([[1], []])
