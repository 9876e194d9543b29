"""The offline reflector on a simulated model: clusters of padding that deltas make rarer, and one that answers need."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.config.config import Config
from engine.evolution.clusters.descriptions import ClusterDescription
from engine.evolution.deltas import Deltas
from engine.evolution.from_config import make_reflector
from engine.evolution.history import History, Iteration
from engine.evolution.reflectors.reflector import JudgedAnswer, ReflectorInput
from engine.evolution.reflectors.statistical_reflector import (
    Evidence,
    StatisticalReflector,
    _share,
    _summary,
    direction,
    gather,
    search_state,
)
from engine.evolution.scoring.score import Outcome, Score, score
from engine.run.stage import StageContext

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
    reflector, history = StatisticalReflector(step=1.0, limit=8.0), History(iterations=[])
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
        assert reply.summary.partition("I changed")[2].count("(no tokens)") == 3, "words beside each number"
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


def judged_as(correct: bool | None, *clusters: int) -> JudgedAnswer:
    return JudgedAnswer("", "", 99, correct, "", list(clusters))


def test_what_answers_tell_by_counting() -> None:
    """Six answers, so the longest are two, and of the three right ones the shortest is one. Tokens of no cluster (255)
    do not count."""
    answers = [
        judged_as(True, *[3] * 6, 1, 1), judged_as(True, 3, 3, 1, 2), judged_as(True, 1, 2, *[255] * 30),
        judged_as(False, *[3] * 4, 1), judged_as(False, 1), judged_as(None, *[3] * 9, 2),
    ]  # fmt: skip
    found = gather(answers, 4)
    assert (found.long, found.short, found.wrong) == (9.0, 2.0, 0.4)
    assert found.padding.tolist() == [0, -0.5, -0.5, 1], (
        "share of what is longer by, less the share it has anyway"
    )
    assert found.missing.tolist() == pytest.approx([0, 1 / 4, 2 / 3, 1 / 4]), (
        "right ones have 4/3, 2/3, 8/3; 1, 0, 2"
    )
    excess = 1 - 2 / 9
    wanted = [0.6 * excess, 0.4 / 4, 0.4 * 2 / 3, 0.4 / 4 - excess]
    assert direction(found).tolist() == pytest.approx(wanted)
    nothing_right = gather(answers[3:], 4)
    assert (nothing_right.long, nothing_right.short, nothing_right.wrong) == (10.0, 1.0, 1.0)
    assert not nothing_right.missing.any()
    alike = gather([judged_as(True, *[3] * 6), judged_as(True, *[2] * 6), judged_as(True, 1)], 4)
    assert alike.padding.tolist() == [0, -1, 0, 1], "of answers that are as long the earlier one counts"
    most = gather([judged_as(True, 254, 255), judged_as(False, 253, 255, 255)], 255)
    assert (most.long, most.short) == (1, 1), "255 is no cluster where there are as many as there can be"


@pytest.mark.parametrize(
    ("counts", "shares"), [([0.25, 0.0, 0.5], [1 / 3, 0, 2 / 3]), ([3, 1], [0.75, 0.25]), ([0, 0], [0, 0])]
)
def test_shares_are_of_all_that_was_counted_however_little(counts: list[float], shares: list[float]) -> None:
    assert _share(np.array(counts, dtype=float)).tolist() == pytest.approx(shares)


@pytest.mark.parametrize(
    ("padding", "long", "short", "wrong", "wanted"),
    [
        ([0, 1, 0.5, -1], 10, 5, 0.0, [0.5, 0, -0.25, 0]),
        ([0, 1, 0.5, -1], 10, 5, 1.0, [0, 0, -0.25, 0]),
        ([0, 0, 0.5, 0.25], 10, 5, 0.0, [0.5, 0, -0.5, -0.25]),
        ([0, 1, 0.5, 0], 4, 8, 0.25, [-0.25, 0, 0, 0]),
        ([0, 1, 0.5, 0], 8, 8, 0.25, [0, 0, 0, 0]),
    ],
    ids=[
        "numbers stay",
        "all wrong: no sooner end",
        "in proportion to the most padded",
        "too short",
        "as long",
    ],
)
def test_the_direction_of_a_step(
    padding: list[float], long: float, short: float, wrong: float, wanted: list[float]
) -> None:
    evidence = Evidence(np.array(padding, dtype=float), np.zeros(4), long, short, wrong)
    assert direction(evidence).tolist() == pytest.approx(wanted)


def test_a_step_is_halved_for_each_iteration_below_the_best_by_more_than_its_error() -> None:
    def iteration(number: int, composite: float) -> Iteration:
        found = Score(
            answers=1, judged=1, correct=1, mean_tokens=1, shortness=1, correctness=1, composite=composite, error=0.1
        )  # fmt: skip
        return Iteration(iteration=number, deltas={"0": float(number)}, examples=[], score=found)

    tried = [
        iteration(number, composite) for number, composite in enumerate((0.5, 0.45, 0.6, 0.4, 0.3, 0.55))
    ]
    found = []
    for count in (0, 1, 2, 3, 4, 5, 6):
        given = ReflectorInput(count, {"0": 77.0}, {}, [], History(iterations=tried[:count]))
        base, step, worse = search_state(given, 8.0)
        found.append((base["0"], step, worse))
    go_on, back = 77.0, 2.0
    assert found == [
        (go_on, 8, False), (go_on, 8, False), (go_on, 8, False), (go_on, 8, False), (back, 4, True), (back, 2, True),
        (go_on, 2, False),
    ]  # fmt: skip


def test_step_and_limit_are_those_of_the_configuration(tmp_path: Path) -> None:
    """A right answer of 10 tokens beside one of 20: half of what is longer is too much, all of it in cluster 3."""
    nobody: Any = None
    reflector = {"kind": "statistical", "step": 3.0}
    config = Config.model_validate({"evolution": {"reflector": reflector}})
    context = StageContext("evolve", config, tmp_path, lambda event: None, lambda: None, nobody)
    deltas = {"0": 7.5, "1": 5.0, "2": 5.0, "3": 5.0}
    answers = [judged_as(True, *[2] * 10), judged_as(True, *[2] * 10, *[3] * 10), judged_as(True, *[2] * 10)]
    reply = make_reflector(context).reflect(
        ReflectorInput(0, deltas, {}, answers, History(iterations=[])), ""
    )
    assert reply.deltas == {"0": 8.0, "1": 5.0, "2": 5.0, "3": 3.5}, "the end cannot go beyond 8"


def test_the_summary_says_what_was_counted_and_changed() -> None:
    """Clusters by their padding, at most three of them; changes by their size, however large a delta is; a sentence on
    the step."""
    words = {
        "3": ClusterDescription("", 1, 0.0, ["central"], ["In short", "Thus", "Hence"]),
        "4": ClusterDescription("", 1, 0.0, ["maybe", "so", "then"], []),
        "5": ClusterDescription("", 1, 0.0, [], ["\n"]),
    }
    before = dict(zip(NAMES, [0.0, 9.0, 0.5, 0.0, 0.0, 0.0], strict=True))
    after = before | {"3": -1.0, "4": -0.75, "2": 0.25, "5": 0.1}
    given = ReflectorInput(2, before, words, [], History(iterations=[]))
    padding = np.array([0.0, -0.2, 0.0, 0.5, 0.2, 0.3])
    evidence = Evidence(padding, np.zeros(6), long=80.6, short=12.4, wrong=0.125)
    counted = (
        "By counting: the longest answers have 81 tokens, the shortest right ones 12, and 12% are wrong."
    )
    changed = "I changed 3 (In short Thus) +0.00 to −1.00, 4 (maybe so) +0.00 to −0.75, 2 (no tokens) +0.50 to +0.25."
    assert _summary(given, evidence, after, 0.5, worse=False) == (
        f"{counted} Most of what is on top lies in clusters 3 (In short Thus), 5 ('\\n'), 4 (maybe so). {changed} "
        "The step stays at 0.5."
    )
    nothing = Evidence(np.zeros(6), np.zeros(6), long=80.6, short=12.4, wrong=0.125)
    assert _summary(given, nothing, after, 1 / 3, worse=True) == (
        f"{counted} Most of what is on top lies in clusters none. {changed} The last step made the composite worse, so "
        "I go back to the best deltas with a step of 0.333."
    )
