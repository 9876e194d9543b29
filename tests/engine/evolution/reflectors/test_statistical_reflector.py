"""The offline reflector on a simulated model: clusters of padding that deltas make rarer, and one that answers need."""

from __future__ import annotations

import math

import numpy as np

from engine.evolution.deltas import Deltas
from engine.evolution.history import History, Iteration
from engine.evolution.reflectors.reflector import JudgedAnswer, ReflectorInput
from engine.evolution.reflectors.statistical_reflector import StatisticalReflector, search_state
from engine.evolution.score import Outcome, score

NAMES = [str(i) for i in range(6)]
PADDING = {3: 14, 4: 9}
"""Cluster -> tokens of one optional sentence."""


def answer(deltas: Deltas, rng: np.random.Generator) -> tuple[int, list[int], bool]:
    """Needs a number (cluster 1) and words (cluster 2); sentences of 3 and 4 come with odds that deltas shift, the
    words get lost when cluster 2 is discouraged."""
    needed = rng.random() < 1 / (1 + math.exp(-4 - 3 * deltas["2"]))
    tokens = [1, 1, *([2] * 6 if needed else [2])]
    for cluster, length in PADDING.items():
        odds = 1.5 + deltas[str(cluster)] - deltas["0"]
        while rng.random() < 1 / (1 + math.exp(-odds)) and len(tokens) < 120:
            tokens += [cluster] * length
    return len(tokens), tokens, bool(needed)


def test_padding_goes_and_answers_stay_right() -> None:
    rng = np.random.default_rng(0)
    reflector, history = StatisticalReflector(step=1.0, limit=8.0), History()
    deltas: Deltas = dict.fromkeys(NAMES, 0.0)
    scores = []
    for iteration in range(8):
        drawn = [answer(deltas, rng) for _ in range(40)]
        found = score([Outcome(length, right) for length, _, right in drawn], 100.0)
        scores.append(found)
        history.iterations.append(Iteration(iteration=iteration, deltas=deltas, examples=[], score=found))
        judged = [
            JudgedAnswer(str(i), "", length, right, "", tokens)
            for i, (length, tokens, right) in enumerate(drawn)
        ]
        reply = reflector.reflect(ReflectorInput(iteration, deltas, {}, judged, history), "")
        assert list(reply.deltas) == NAMES
        assert 2 <= reply.summary.count(". ") + 1 <= 6
        deltas = reply.deltas
    assert min(scores[-3:], key=lambda s: s.mean_tokens).mean_tokens < 0.5 * scores[0].mean_tokens
    assert scores[-1].correctness > 0.9
    assert max(s.composite for s in scores[3:]) > scores[0].composite + 0.05
    assert deltas["1"] >= 0 and min(deltas["3"], deltas["4"]) < 0


def test_a_step_that_made_things_worse_is_halved_and_taken_back() -> None:
    good = score([Outcome(10, True)] * 4, 100.0)
    bad = score([Outcome(10, False)] * 4, 100.0)
    best, worse = dict.fromkeys(NAMES, 0.0), dict.fromkeys(NAMES, 1.0)
    history = History(
        iterations=[
            Iteration(iteration=0, deltas=best, examples=[], score=good),
            Iteration(iteration=1, deltas=worse, examples=[], score=bad),
        ]
    )
    base, step, was_worse = search_state(ReflectorInput(1, worse, {}, [], history), 2.0)
    assert (base, step, was_worse) == (best, 1.0, True)


def test_the_same_answers_give_the_same_reply() -> None:
    judged = [JudgedAnswer("a", "", 4, True, "", [1, 2, 3, 3]), JudgedAnswer("b", "", 2, False, "", [2, 3])]
    found = score([Outcome(4, True), Outcome(2, False)], 100.0)
    deltas = dict.fromkeys(NAMES, 0.0)
    history = History(iterations=[Iteration(iteration=0, deltas=deltas, examples=[], score=found)])
    given = ReflectorInput(0, deltas, {}, judged, history)
    reflector = StatisticalReflector(2.0, 8.0)
    assert reflector.reflect(given, "") == reflector.reflect(given, "other words")
