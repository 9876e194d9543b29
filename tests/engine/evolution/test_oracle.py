"""The composite score and what follows from a history once more, literally from the specification (5, 6)."""

from __future__ import annotations

import statistics

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.evolution.history import History, Iteration
from engine.evolution.minibatch import split_questions
from engine.evolution.scoring.score import Outcome, Score, score
from engine.tasks.example import TaskExample

OUTCOMES = st.lists(
    st.tuples(st.integers(0, 400), st.sampled_from([True, False, None])), min_size=1, max_size=12
)


@given(OUTCOMES, st.floats(1, 500))
def test_the_composite_by_its_definition(given_outcomes: list[tuple[int, bool | None]], scale: float) -> None:
    """0.4 / (1 + mean tokens of all / scale) + 0.6 * share of the judged that are right."""
    judged = [(tokens, right) for tokens, right in given_outcomes if right is not None]
    if not judged:
        return
    found = score([Outcome(tokens, right) for tokens, right in given_outcomes], scale)
    mean = statistics.fmean(tokens for tokens, _ in given_outcomes)
    share = sum(right for _, right in judged) / len(judged)
    assert found.composite == pytest.approx(0.4 / (1 + mean / scale) + 0.6 * share)
    singles = [0.4 / (1 + tokens / scale) + 0.6 * right for tokens, right in judged]
    error = statistics.stdev(singles) / len(singles) ** 0.5 if len(singles) > 1 else 0.0
    assert found.error == pytest.approx(error, abs=1e-9)
    assert (found.answers, found.judged, found.correct) == (
        len(given_outcomes),
        len(judged),
        sum(r for _, r in judged),
    )


def _score(composite: float) -> Score:
    return Score(
        answers=1,
        judged=1,
        correct=1,
        mean_tokens=1,
        shortness=1,
        correctness=1,
        composite=composite,
        error=0,
    )


def test_a_history_goes_on_from_its_last_deltas_and_its_last_best() -> None:
    history = History(iterations=[])
    assert history.next_deltas({"0": 7.0}) == {"0": 7.0} and history.best is None and history.since_best == 0
    for number, (best, new) in enumerate(
        [(True, {"0": 1.0}), (True, None), (False, {"0": 2.0}), (False, None)]
    ):
        history.iterations.append(
            Iteration(
                iteration=number, deltas={"0": number / 10}, examples=[], score=_score(0.1), best=best, new_deltas=new,
                validation=_score(0.5 + number) if best else None, aborted="" if new else "no reply",
            )
        )  # fmt: skip
    assert history.best is history.iterations[1] and history.reached == 1.5
    assert history.since_best == 2, "iterations 2 and 3"
    assert history.next_deltas({}) == {"0": 0.3}, "the last used, as the reflector gave none"
    assert history.aborted_in_a_row() == 1
    history.iterations.pop()
    assert history.next_deltas({}) == {"0": 2.0}


def test_only_a_higher_composite_is_a_new_best() -> None:
    """Spec 1, step 8: higher than the best so far, which was decided on the minibatch or on the validation set."""
    first = Iteration(iteration=0, deltas={}, examples=[], score=_score(0.5), best=True)
    history = History(iterations=[])
    assert history.is_best(_score(0.0))
    history.iterations.append(first)
    assert [history.is_best(_score(value)) for value in (0.49, 0.5, 0.51)] == [False, False, True]
    history.iterations[0] = msgspec.structs.replace(first, validation=_score(0.6))
    assert [history.is_best(_score(value)) for value in (0.51, 0.6, 0.61)] == [False, False, True]


def test_questions_are_split_without_overlap_and_minibatches_differ() -> None:
    examples = [TaskExample(str(number), f"q{number}", "1") for number in range(40)]
    splits = split_questions(examples, 6, 10, 8, seed=3)
    names = [[example.id for example in part] for part in (splits.pool, splits.validation, splits.test)]
    assert sorted([*names[0], *names[1], *names[2]], key=int) == [example.id for example in examples]
    assert [len(part) for part in names] == [22, 10, 8]
    drawn = [[example.id for example in splits.minibatch(number)] for number in range(6)]
    assert all(len(set(one)) == 6 and set(one) <= set(names[0]) for one in drawn)
    assert len({tuple(sorted(one)) for one in drawn}) > 1
    assert drawn[2] == [example.id for example in splits.minibatch(2)], "by seed and iteration alone"
