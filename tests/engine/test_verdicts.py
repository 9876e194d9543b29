"""The verdict of each method against counting by hand: what a run is remembered by.

In each case more items get better than worse and the interval is not even about its difference, so that no two figures
can be exchanged unnoticed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from engine.config.config import Config
from engine.esm.evaluation.answer_lines import AnswerLine
from engine.esm.evaluation.verdict import esm_verdict
from engine.events import ConversationAnswered
from engine.events.verdict import Verdict, rank
from engine.evolution.scoring.comparison import BEST, BRIEF, PLAIN, SAME_LENGTH, Method, compare
from engine.evolution.scoring.score import Outcome
from engine.evolution.verdict import evolution_verdict
from engine.gflownet.evaluation.evaluator import Evaluation
from engine.gflownet.evaluation.verdict import _points, sampler_verdict
from engine.pool.verdicts import pool_verdict, selector_verdict
from engine.slsm.judges.mode_verdict import mode_verdict
from tests.bench.print_slsm import compared_pairs
from tests.small_esm import answer_line

OWN, OTHER = [1.0, 1.0, 0.6, 0.0, 1.0], [0.0, 0.0, 0.3, 0.3, 1.0]
"""Better in three, worse in one, equal in one; means 0.72 and 0.32, differences 1, 1, 0.3, -0.3, 0."""


def resampled(differences: Sequence[float]) -> tuple[float, float]:
    """The 95% percentile interval of a mean, over every one of the n^n resamples."""
    n = len(differences)
    sums = Counter({0.0: 1})
    for _ in range(n):
        longer: Counter[float] = Counter()
        for (total, ways), value in product(sums.items(), differences):
            longer[round(total + value, 9)] += ways
        sums = longer
    below = np.cumsum([sums[total] for total in sorted(sums)]) / n**n
    low, high = (sorted(sums)[int(np.searchsorted(below, share))] / n for share in (0.025, 0.975))
    return low, high


def figures(verdict: Verdict | None) -> list[float | int | None]:
    assert verdict is not None
    return [
        verdict.n,
        verdict.value,
        verdict.baseline_value,
        verdict.difference,
        verdict.fixed,
        verdict.broken,
    ]


def graded(verdict: Verdict) -> None:
    """OWN beside OTHER."""
    assert verdict.graded and verdict.shown is (verdict.low > 0)
    assert figures(verdict) == pytest.approx([5, 0.72, 0.32, 0.4, 3, 1])
    assert (verdict.low, verdict.high) == pytest.approx(resampled([1, 1, 0.3, -0.3, 0]), abs=0.03)


def test_of_a_pool_and_of_a_selector() -> None:
    pool = pool_verdict(OTHER, OWN, 1, 2.5)
    graded(pool)
    assert (pool.method, pool.baseline, pool.metric, pool.cost) == ("pool", "given", "oracle", 2.5)
    assert pool.curve == [1.0, 1.0, 0.8667, 0.65, 0.72], "the mean so far, after the stage"
    selector = selector_verdict({"a": np.array(OWN), "b": np.array(OTHER)}, "a", "b", 1, 0.0, [0.2, 0.3])
    assert selector.curve == [0.2, 0.3]
    graded(selector)
    assert (selector.method, selector.baseline, selector.cost) == ("a", "b", None)


def test_random_pairs_beside_a_selector() -> None:
    scores = {
        "selector": np.array([1.0] * 6), "rices": np.array([0.0] * 6), "random": np.array([1.0] * 5 + [0.4]),
    }  # fmt: skip
    closest = selector_verdict(scores, "selector", "rices", 1, 0.0, []).closest
    assert closest is not None and (closest.method, closest.n) == ("random", 6)
    assert (closest.value, closest.difference) == pytest.approx((0.9, -0.1))
    assert (closest.low, closest.high) == pytest.approx(resampled([0, 0, 0, 0, 0, -0.6]))
    scores["random"] = np.array([0.5] * 6)
    assert selector_verdict(scores, "selector", "rices", 1, 0.0, []).closest is None


@pytest.mark.parametrize(("prior", "ahead"), [([0.71] * 5, []), ([0.72] * 5, []), ([0.73] * 5, ["prior"])])
def test_of_a_sampler(prior: list[float], ahead: list[str]) -> None:
    """At K paths; the prior alone is named where it is ahead of the sampler."""
    found = {
        method: Evaluation(method, 4, figures={"answer_recall_union@4": values, "unique_paths@4": [4.0] * 5})
        for method, values in (("gflownet", OWN), ("distinct", [0.75] * 5), ("beam", OTHER), ("prior", prior))
    }
    verdict = sampler_verdict(found, 1)
    graded(verdict)
    assert (verdict.method, verdict.baseline, verdict.k) == ("gflownet", "beam", 4)
    assert verdict.ahead == ahead
    assert verdict.remark.startswith(
        "These are independent draws; 4 distinct paths reach 75.0%, +43.0 points ["
    )
    low, high = resampled([0.75, 0.75, 0.45, 0.45, -0.25])
    ends = verdict.remark.partition("[")[2].removesuffix("] against beam search.").split(", ")
    assert [float(end) for end in ends] == pytest.approx([100 * low, 100 * high], abs=1)


def test_where_questions_have_few_paths_the_verdict_speaks_of_hits_at_1() -> None:
    """Three of five questions have fewer than 4 paths, which beam search lists: any 4 paths reach all answers. The
    sampler names an answer to 4 of 5, beam search to 3: it fixed questions 2 and 3, and broke question 1."""
    hits = {
        "gflownet": [0, 1, 1, 1, 1],
        "beam": [1, 0, 0, 1, 1],
        "prior": [0, 0, 0, 1, 1],
        "distinct": [1, 1, 1, 1, 1],
    }
    found = {
        method: Evaluation(method, 4, figures={
            "answer_recall_union@4": [1.0] * 5, "unique_paths@4": [3.0, 4.0, 2.0, 4.0, 3.0],
            "hits@1": [float(hit) for hit in values],
        })
        for method, values in hits.items()
    }  # fmt: skip
    verdict = sampler_verdict(found, 1)
    assert (verdict.metric, verdict.k, verdict.graded) == ("hits@1", None, False)
    assert (verdict.value, verdict.baseline_value, verdict.difference) == pytest.approx((0.8, 0.6, 0.2))
    assert (verdict.fixed, verdict.broken, verdict.ahead) == (2, 1, [])
    assert verdict.remark == (
        "Most questions have fewer than 4 paths. These are independent draws; distinct paths have 100.0%, "
        "+40.0 points [0.0, 80.0] against beam search."
    )
    found["beam"].figures["unique_paths@4"] = [3.0, 4.0, 4.0, 4.0, 3.0]
    assert sampler_verdict(found, 1).metric == "answer_recall", "most have as many"


@pytest.mark.parametrize(
    ("share", "sign", "text"),
    [(0.43, "+", "+43.0"), (-0.0004, "+", "0.0"), (-0.06, "", "−6.0"), (0.0, "+", "0.0")],
)
def test_points_that_round_to_zero_have_no_sign(share: float, sign: str, text: str) -> None:
    assert _points(share, sign) == text


def test_the_scores_alone_beside_a_sampler() -> None:
    """The sampler reaches 0.6 in each question, beam search 0.1; the scores alone as much but in one question."""
    figures = {"gflownet": [0.6] * 5, "distinct": [0.7] * 5, "beam": [0.1] * 5, "prior": [0.6] * 4 + [0.1]}
    found = {
        method: Evaluation(method, 4, figures={"answer_recall_union@4": values, "unique_paths@4": [4.0] * 5})
        for method, values in figures.items()
    }
    closest = sampler_verdict(found, 1).closest
    assert closest is not None and (closest.method, closest.n) == ("prior", 5)
    assert (closest.value, closest.difference) == pytest.approx((0.5, -0.1))
    assert (closest.low, closest.high) == pytest.approx(resampled([0, 0, 0, 0, -0.5]))
    found["prior"].figures["answer_recall_union@4"] = [0.2] * 5
    assert sampler_verdict(found, 1).closest is None


def esm_row(accuracy: float, total: float, probes: float = 0.0, **more: Any) -> dict[str, Any]:
    return {"n": 10, "accuracy": accuracy, "mean_total_tokens": total, "mean_probe_tokens": probes} | more


def esm_lines(rights: str) -> list[AnswerLine]:
    """An answer a problem: 1 right, 0 wrong."""
    return [answer_line(example_id=f"{at}", correct=right == "1") for at, right in enumerate(rights)]


def test_of_esm() -> None:
    rows = {
        "greedy": esm_row(0.8, 80.0),
        "esm": esm_row(0.7, 95.0, 12.5, difference=-0.1, low=-0.4, high=0.3, fixed=1, broken=2),
        "majority_vote": esm_row(0.7, 240.0),
        "no_probing": esm_row(0.9, 70.0),
    }
    answers = {"esm": esm_lines("1001"), "no_probing": esm_lines("1101"), "majority_vote": esm_lines("1001")}
    verdict = esm_verdict(rows, answers, Config())
    assert figures(verdict) == [10, 0.7, 0.8, -0.1, 1, 2]
    assert verdict is not None and (verdict.low, verdict.high) == (-0.4, 0.3)
    assert (verdict.tokens, verdict.baseline_tokens, verdict.probe_tokens) == (95.0, 80.0, 12.5)
    assert verdict.closest is None, "it is not shown to be better than greedy"
    assert verdict.curve == [1, 0.5, 0.3333, 0.5]
    assert verdict.ahead == [], "an equal one is not ahead, an ablation is no baseline"
    higher = {"majority_vote": esm_row(0.71, 240.0), "prompted": esm_row(0.75, 90.0)}
    answers["prompted"] = esm_lines("1001")
    ahead = esm_verdict(rows | higher, answers, Config())
    assert ahead is not None and ahead.ahead == ["prompted", "majority_vote"], "the best first"
    assert esm_verdict({"esm": rows["esm"]}, answers, Config()) is None
    assert esm_verdict({"greedy": rows["greedy"]}, answers, Config()) is None


def test_the_ablation_that_comes_closest_to_esm() -> None:
    """Of 20 problems esm has 18 right. The ablation has 17 of them, without probes; others have 18 and 8. STIR's
    settings are no simpler."""
    answers = {
        "esm": esm_lines("1" * 18 + "00"),
        "no_probing": esm_lines("1" * 17 + "000"),
        "mean_vector": esm_lines("1" * 8 + "0" * 12),
        "stir": esm_lines("1" * 18 + "00"),
        "greedy": esm_lines("1" * 18 + "00"),
    }
    rows = {name: esm_row(sum(a.correct for a in lines) / 20, 70.0, method=name)
            for name, lines in answers.items()}  # fmt: skip
    rows["esm"] |= {"mean_total_tokens": 95.0, "mean_probe_tokens": 12.5}
    rows["esm"] |= {"difference": 0.5, "low": 0.3, "high": 0.7, "fixed": 10, "broken": 0}
    verdict = esm_verdict(rows, answers, Config())
    assert verdict is not None and verdict.closest is not None
    closest = verdict.closest
    assert (closest.method, closest.n, closest.value, closest.difference) == ("no_probing", 10, 0.85, -0.05)
    assert (closest.low, closest.high) == pytest.approx(resampled([-1.0] + [0.0] * 19))
    assert (closest.tokens, closest.probe_tokens, closest.metric) == (70.0, 0.0, "")
    alone = {name: rows[name] for name in ("greedy", "esm", "mean_vector", "stir")}
    far = esm_verdict(alone, answers, Config())
    assert far is not None and far.closest is None


def test_of_an_evolution() -> None:
    """Ten questions; of one the judge could not tell under the best deltas. Tokens of all ten count."""
    right = [True] * 6 + [False] * 4
    plain = [Outcome(40, one) for one in right]
    best = [Outcome(tokens, not one) for tokens, one in zip(range(20, 30), right, strict=True)]
    best[:4] = [Outcome(20, True), Outcome(21, True), Outcome(22, None), Outcome(23, True)]
    methods = [Method(PLAIN, plain), Method(BRIEF, plain), Method(BEST, best)]
    rows = compare(methods, 100.0, seed=1)
    verdict = evolution_verdict(rows, methods, ["brief_prompt"], 0.0, [])
    assert (verdict.lower_is_better, verdict.better, verdict.shown, verdict.unit) == (
        True,
        True,
        True,
        "tokens",
    )
    assert figures(verdict) == pytest.approx([10, 24.5, 40, -15.5, 4, 2])
    assert verdict.low < -15.5 < verdict.high < -13 and (verdict.tokens, verdict.baseline_tokens) == (
        24.5,
        40,
    )
    kept = verdict.kept
    assert kept is not None and kept.n == 9
    assert (kept.value, kept.baseline_value, kept.difference) == pytest.approx((7 / 9, 5 / 9, 2 / 9))
    assert (kept.low, kept.high) == pytest.approx(resampled([1] * 4 + [-1] * 2 + [0] * 3))
    assert (verdict.ahead, verdict.cost) == (["brief_prompt"], None)
    tried: list[Any] = [
        SimpleNamespace(
            score=SimpleNamespace(mean_tokens=on_minibatch), decided_by=SimpleNamespace(mean_tokens=9)
        )
        for on_minibatch in (40.0, 25.0)
    ]
    again = evolution_verdict(rows, methods, [], 0.25, tried)
    assert (again.cost, again.curve) == (0.25, [40.0, 25.0]), "each iteration on its own minibatch"


def test_the_baseline_that_comes_closest_to_an_evolution_by_its_composite() -> None:
    """A cap at the same length is as short and always wrong: only tokens would call it as good. The request gives 21
    tokens and is always right: 0.4 / (1 + 21/100) + 0.6 = 0.930579 beside 0.4 / (1 + 20/100) + 0.6 = 0.933333."""
    plain, best = [Outcome(40, True)] * 10, [Outcome(20, True)] * 10
    brief = [Outcome(20, None), *[Outcome(20, True)] * 8, Outcome(30, True)]
    methods = [Method(PLAIN, plain), Method(SAME_LENGTH, [Outcome(20, False)] * 10), Method(BEST, best)]
    rows = compare(methods, 100.0, seed=1)
    assert evolution_verdict(rows, methods, [], 0.0, []).closest is None
    rows = compare([*methods, Method(BRIEF, brief)], 100.0, seed=1)
    closest = evolution_verdict(rows, methods, [], 0.0, []).closest
    assert closest is not None and (closest.method, closest.n, closest.metric) == (BRIEF, 10, "composite")
    assert (closest.value, closest.difference) == pytest.approx((0.930579, -0.002755), abs=1e-6)
    assert closest.low == pytest.approx(0.4 / 1.23 - 0.4 / 1.2) and closest.high == 0
    assert closest.tokens == 21 and not closest.lower_is_better


PASSED = {
    # axis, then whether it passes under reminder, on_detection (two attempts)
    "a": ("one", False, (False, True)),
    "b": ("one", False, (True, True)),
    "c": ("one", True, (False, False)),
    "d": ("one", True, (True, None)),
    "e": ("two", False, (True, False)),
    "f": ("two", None, (True, True)),
    "g": ("two", True, (None, None)),
}


def answer(key: str, mode: str, passed: bool | None, attempt: int = 0, **more: Any) -> ConversationAnswered:
    return ConversationAnswered(
        conversation_id=key, axis=PASSED[key][0], mode=mode, memory_mode="none", attempt=attempt, answer="",
        injected=mode != "reminder", reason="", passed=passed, **more,
    )  # fmt: skip


def answers() -> dict[tuple[str, str], list[ConversationAnswered]]:
    spent = {"controller_tokens": 3, "model_tokens": 40, "detector_tokens": 2, "cost": 0.5}
    own = [
        answer(key, "on_detection", passed, attempt, **spent)
        for key, (_, _, both) in PASSED.items()
        for attempt, passed in enumerate(both)
    ]
    plain = [answer(key, "reminder", passed, model_tokens=30) for key, (_, passed, _) in PASSED.items()]
    never = [answer(key, "never", True) for key in PASSED]
    nothing = [answer(key, "baseline", False) for key in PASSED]
    return {
        ("never", ""): never, ("baseline", ""): nothing, ("reminder", ""): plain, ("on_detection", ""): own,
    }  # fmt: skip


def test_of_memory_notes() -> None:
    """Judged under both are a to e. Axis one: 3 of 4 against 2 of 4; axis two: 1 of 1 against none."""
    verdict = mode_verdict(answers(), 1, "on_detection")
    assert figures(verdict) == pytest.approx([5, (3 / 4 + 1) / 2, (2 / 4 + 0) / 2, (1 / 4 + 1) / 2, 3, 1])
    assert verdict is not None and (verdict.method, verdict.baseline) == ("on_detection", "reminder")
    one = resampled([1, 1, -1, 0])
    assert (verdict.low, verdict.high) == pytest.approx(((one[0] + 1) / 2, (one[1] + 1) / 2), abs=0.01)
    assert (verdict.tokens, verdict.baseline_tokens, verdict.cost) == (90, 30, 7.0)


def test_the_curve_of_memory_notes_is_over_the_judged_answers_alone() -> None:
    """Wrong, right; wrong, wrong; right, not judged; not judged at all."""
    given = answers()
    given["on_detection", ""] = [each for each in given["on_detection", ""] if each.conversation_id in "acdg"]
    verdict = mode_verdict(given, 1, "on_detection")
    assert verdict is not None and verdict.curve == [0.0, 0.5, 0.3333, 0.25, 0.4]


@pytest.mark.parametrize(
    ("inject", "method"), [("never", "never"), ("on_risk", "on_detection"), ("reminder", "on_detection")]
)
def test_the_mode_that_a_run_names_is_compared(inject: Any, method: str) -> None:
    """Where it was answered, and is no baseline."""
    verdict = mode_verdict(answers(), 1, inject)
    assert verdict is not None and (verdict.method, verdict.baseline) == (method, "reminder")


def test_calls_of_memory_notes() -> None:
    given = answers()
    calls = {"controller_calls": 2, "model_calls": 2, "detector_calls": 1}
    given["on_detection", ""] = [
        answer(key, "on_detection", passed, attempt, **calls)
        for key, (_, _, both) in PASSED.items()
        for attempt, passed in enumerate(both)
    ]
    given["reminder", ""] = [replace(each, model_calls=1) for each in given["reminder", ""]]
    verdict = mode_verdict(given, 1, "on_detection")
    assert verdict is not None and (verdict.calls, verdict.baseline_calls) == (10, 1)


def test_the_simpler_mode_or_memory_that_comes_closest() -> None:
    """The notes pass all of 12 conversations, no note none. The flat memory passes 11 and `always` 10; a mode that is
    not simpler (`on_detection` beside `on_risk`) does not count, nor another mode with another memory."""

    def under(mode: str, memory: str, passes: int, tokens: int = 10) -> list[ConversationAnswered]:
        return [
            ConversationAnswered(
                conversation_id=f"{at}", axis="one", mode=mode, memory_mode=memory, attempt=0, answer="",
                injected=True, reason="", passed=at < passes, model_tokens=tokens, model_calls=2,
            )
            for at in range(12)
        ]  # fmt: skip

    given = {
        ("baseline", "none"): under("baseline", "none", 0),
        ("on_detection", "structured"): under("on_detection", "structured", 12),
        ("always", "structured"): under("always", "structured", 10),
        ("always", "flat"): under("always", "flat", 12),
        ("on_detection", "flat"): under("on_detection", "flat", 11, tokens=7),
    }
    verdict = mode_verdict(given, 1, "on_detection")
    assert verdict is not None and verdict.closest is not None
    closest = verdict.closest
    assert (closest.method, closest.n, closest.tokens, closest.calls) == ("flat", 12, 7, 2)
    assert (closest.value, closest.difference) == pytest.approx((11 / 12, -1 / 12))
    assert (closest.low, closest.high) == pytest.approx(resampled([-1.0] + [0.0] * 11))
    del given["on_detection", "flat"]
    verdict = mode_verdict(given, 1, "on_detection")
    assert verdict is not None and verdict.closest is not None
    assert (verdict.closest.method, verdict.closest.value) == ("always", pytest.approx(10 / 12))
    risk = {
        ("on_risk" if mode == "always" else mode, memory): lines for (mode, memory), lines in given.items()
    }
    verdict = mode_verdict({**risk, ("always", "flat"): given["always", "flat"]}, 1, "on_detection")
    assert verdict is not None and verdict.closest is not None and verdict.closest.method == "on_risk"
    del risk["on_detection", "structured"]
    verdict = mode_verdict(
        {**risk, ("on_detection", "flat"): under("on_detection", "flat", 12)}, 1, "on_detection"
    )
    assert verdict is not None and verdict.method == "on_detection" and verdict.closest is not None
    assert verdict.closest.method == "on_risk", "it has the flat memory itself"


def test_of_memory_notes_where_a_mode_is_missing() -> None:
    own, plain = ("on_detection", ""), ("reminder", "")
    given = answers()
    assert (
        mode_verdict({own: given[own]}, 1, "on_detection") is None
        and mode_verdict({plain: given[plain]}, 1, "on_detection") is None
    )
    unjudged = [answer(key, "reminder", None) for key in PASSED]
    assert mode_verdict({own: given[own], plain: unjudged}, 1, "on_detection") is None
    verdict = mode_verdict({plain: given[plain], ("never", ""): given["never", ""]}, 1, "on_detection")
    assert verdict is not None and verdict.method == "never" and verdict.cost is None
    never = [answer(key, "never", None) for key in PASSED]
    verdict = mode_verdict({own: given[own], plain: given[plain], ("never", ""): never}, 1, "on_detection")
    assert verdict is not None and verdict.closest is None, "no answer of the simpler mode was judged"


def test_two_modes_on_the_same_conversations() -> None:
    given = answers()
    del given["never", ""], given["baseline", ""]
    (row,) = compared_pairs(given, 1)
    assert {name: row[name] for name in ("first", "second", "n", "first_passes", "second_passes")} == {
        "first": "reminder ", "second": "on_detection ", "n": 5, "first_passes": 2, "second_passes": 4,
    }  # fmt: skip
    assert (row["first_only"], row["second_only"]) == (1, 3)
    assert row["p"] == pytest.approx(2 * (1 + 4) / 2**4)
    one = resampled([1, 1, -1, 0])
    assert row["difference"] == pytest.approx((1 / 4 + 1) / 2)
    assert (row["low"], row["high"]) == pytest.approx(((one[0] + 1) / 2, (one[1] + 1) / 2), abs=0.01)


def test_results_are_in_order_of_their_value_and_then_of_their_tokens() -> None:
    """Where tokens are not known, none are counted."""
    assert [rank(0.5, 7.0, lower) for lower in (False, True)] == [(-0.5, 7.0), (0.5, 7.0)]
    assert rank(0.5, None, False) == (-0.5, 0.0) < rank(0.5, 1.0, False) < rank(0.4, None, False)
    assert rank(0.4, 9.0, True) < rank(0.5, None, True)
