"""The verdict on an evolution where the judge could not tell on every answer, and where shortness cost correctness."""

from __future__ import annotations

from engine.evolution.scoring.comparison import BEST, PLAIN, Method, compare
from engine.evolution.scoring.score import Outcome
from engine.evolution.verdict import evolution_verdict


def test_correctness_is_kept_over_what_was_judged_on_both_sides() -> None:
    """Of four questions the judge could tell on both answers to two. No processor is no baseline that comes closest."""
    plain = [Outcome(40, one) for one in (True, True, False, None)]
    best = [Outcome(20, one) for one in (True, None, True, False)]
    methods = [Method(PLAIN, plain), Method(BEST, best)]
    verdict = evolution_verdict(compare(methods, 100.0, seed=1), methods, [], 0.0, [])
    kept = verdict.kept
    assert kept is not None and (kept.n, kept.value, kept.baseline_value, kept.difference) == (
        2,
        1.0,
        0.5,
        0.5,
    )
    assert (verdict.n, verdict.fixed, verdict.broken) == (4, 1, 0)
    worse = [Method(PLAIN, [Outcome(40, True)] * 10), Method(BEST, [Outcome(20, at < 5) for at in range(10)])]
    shorter = evolution_verdict(compare(worse, 100.0, seed=1), worse, [], 0.0, [])
    assert shorter.shown and shorter.closest is None
