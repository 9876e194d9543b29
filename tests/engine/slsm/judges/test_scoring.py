"""The scores of a mode by hand: several attempts, several axes, notes that helped, changed nothing or did harm."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from engine.events import ConversationAnswered
from engine.slsm.judges.scoring import outcomes_of, score_mode

# Axis, passes under baseline, and for each attempt with notes: passed, injected, calls and tokens of the model.
TALKS: dict[str, tuple[str, bool | None, tuple[tuple[bool | None, bool, int, int], ...]]] = {
    "fixed": ("A", False, ((False, True, 1, 10), (True, True, 2, 30))),
    "broke": ("A", True, ((False, True, 1, 20), (False, False, 1, 20))),
    "wasted": ("A", True, ((True, True, 1, 10), (False, True, 1, 10))),
    "without a note": ("A", False, ((True, False, 1, 10), (True, False, 1, 10))),
    "noted once": ("B", False, ((True, True, 1, 10), (None, False, 1, 10))),
    "never judged": ("B", True, ((None, True, 1, 40), (None, True, 1, 40))),
}


def answer(talk: str, mode: str, attempt: int, passed: bool | None, **more: object) -> ConversationAnswered:
    fields = {"injected": False, "memory_mode": "structured", "answer": "so", "reason": ""} | more
    return ConversationAnswered(
        conversation_id=talk, axis=TALKS[talk][0], mode=mode, attempt=attempt, passed=passed, **fields,  # type: ignore[arg-type]
    )  # fmt: skip


def answers() -> tuple[list[ConversationAnswered], list[ConversationAnswered]]:
    """Those with notes, and those of `baseline`."""
    own = [
        answer(
            talk, "always", attempt, passed, injected=injected, note_tokens=6 * injected, model_calls=calls,
            model_tokens=tokens, controller_calls=3, detector_tokens=12, cost=0.25, cut=attempt == 1,
            failure="refused" if talk == "never judged" else "",
        )
        for talk, (_, _, attempts) in TALKS.items()
        for attempt, (passed, injected, calls, tokens) in enumerate(attempts)
    ]  # fmt: skip
    return own, [answer(talk, "baseline", 0, passed) for talk, (_, passed, _) in TALKS.items()]


def test_a_conversation_passes_and_has_a_note_where_one_of_its_attempts_does():
    found = {key: (one.passed, one.injected) for key, one in outcomes_of(answers()[0]).items()}
    assert found == {
        "fixed": (True, True), "broke": (False, True), "wasted": (True, True), "without a note": (True, False),
        "noted once": (True, True), "never judged": (None, True),
    }  # fmt: skip


def test_scores_effects_and_costs():
    own, plain = answers()
    row = score_mode(own, plain, failures=4, seed=0)
    assert (row.n, row.judged, row.failures) == (6, 5, 4)
    assert row.score == pytest.approx((3 / 4 + 1) / 2), "the mean over axes, not over conversations"
    assert row.difference == pytest.approx(((1 - 1 + 0 + 1) / 4 + 1) / 2)
    assert [(line[0], line[1], line[4]) for line in row.by_axis] == [("A", 0.75, 4), ("B", 1.0, 1)]
    ends = [end for line in row.by_axis for end in line[2:4]]
    assert ends == pytest.approx([0.3006, 0.9544, 0.2065, 1.0], abs=1e-4), "Wilson's, of 3 of 4 and of 1 of 1"
    assert (row.injections, row.fixed, row.broke, row.wasted) == (5, 2, 1, 1), "effects of judged notes alone"
    # A conversation's cost is that of all its attempts.
    assert row.model_calls == pytest.approx((3 + 2 + 2 + 2 + 2 + 2) / 6)
    assert row.model_tokens == pytest.approx((40 + 40 + 20 + 20 + 20 + 80) / 6)
    assert (row.controller_calls, row.detector_tokens, row.cost) == pytest.approx((6, 24, 0.5))
    assert row.injected_tokens == pytest.approx(6 * (2 + 1 + 2 + 0 + 1 + 2) / 6)
    assert (row.cut, row.unanswered) == (6, 1), "conversations, not answers"


def test_the_baseline_has_no_difference_from_itself():
    plain = answers()[1]
    row = score_mode(plain, plain, failures=0, seed=0)
    assert row.score == pytest.approx((2 / 4 + 1 / 2) / 2)
    assert row.difference is None and row.difference_low is None and row.difference_high is None


@pytest.mark.parametrize("shared", [[], ["fixed"]])
def test_an_axis_that_the_baseline_lacks_leaves_no_difference(shared: Sequence[str]):
    own, plain = answers()
    row = score_mode(own, [one for one in plain if one.conversation_id in shared], failures=0, seed=0)
    assert row.score is not None and row.difference is None
    assert (row.fixed, row.broke, row.wasted) == (len(shared), 0, 0)


def test_a_note_has_no_effect_where_the_baseline_has_no_verdict():
    """And a conversation of which both attempts were cut, or refused, counts once."""
    own = [answer("fixed", "always", at, True, injected=True, cut=True, failure="no") for at in (0, 1)]
    row = score_mode(own, [answer("fixed", "baseline", 0, None)], failures=0, seed=0)
    assert (row.injections, row.fixed, row.broke, row.wasted) == (1, 0, 0, 0)
    assert (row.cut, row.unanswered) == (1, 1)
