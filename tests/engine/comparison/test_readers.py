"""What counts as an item's outcome in each method, from events written by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from engine.comparison.items import Item
from engine.comparison.methods.evolution import EvolutionReader
from engine.comparison.methods.gflownet import GFlowNetReader
from engine.comparison.methods.pool import PoolReader
from engine.comparison.methods.slsm import SLSMReader
from engine.events import (
    AnswerJudged,
    AnswersScored,
    ConversationAnswered,
    ConversationOpened,
    Event,
    EvidenceAnswered,
    PoolQueryDone,
    QuestionSampled,
    SelectorPicked,
)
from engine.run.event_log import LogPlace
from tests.synthetic_evolution import evolution_events
from tests.synthetic_gflownet import gflownet_events
from tests.synthetic_pool import pool_events

T = TypeVar("T")


def one_of(kind: type[T], events: Iterable[Event]) -> T:
    return next(event for event in events if isinstance(event, kind))


def read(reader: Any, events: list[Event]) -> dict[str, dict[str, Item]]:
    for at, event in enumerate(events):
        assert isinstance(event, reader.kinds)
        reader.take(event, LogPlace(at, 1))
    return {arm.name: arm.items for arm in reader.arms()}


def judged(iteration: int, split: str, key: str, correct: bool | None, tokens: int) -> AnswerJudged:
    return AnswerJudged(
        iteration=iteration, split=split, example=key, question=f"Q {key}", gold="g", answer="a",
        correct=correct, tokens=tokens, reasoning="",
    )  # fmt: skip


def scored(iteration: int, split: str, best: bool) -> AnswersScored:
    return replace(one_of(AnswersScored, evolution_events()), iteration=iteration, split=split, best=best)


def test_of_an_evolution_s_validations_the_last_best_one_counts() -> None:
    """On the test set the last one that was answered; minibatches decide nothing."""
    arms = read(
        EvolutionReader(),
        [
            judged(0, "baseline", "p", True, 50), scored(0, "baseline", False),
            judged(0, "validation", "p", True, 40), scored(0, "validation", True),
            judged(1, "minibatch", "p", False, 1), scored(1, "minibatch", True),
            judged(2, "validation", "p", None, 30), scored(2, "validation", True),
            judged(3, "validation", "p", True, 20), scored(3, "validation", False), scored(3, "minibatch", True),
            judged(1, "test", "z", False, 9), judged(2, "test", "z", True, 7), judged(0, "test_plain", "z", False, 70),
        ],
    )  # fmt: skip
    assert list(arms) == [
        "best deltas",
        "no processor",
        "best deltas (validation)",
        "no processor (validation)",
    ]
    (best,) = arms["best deltas (validation)"].values()
    assert (best.tokens, best.score, best.right, best.places) == (30, None, None, (LogPlace(6, 1),))
    assert [(one.tokens, one.score) for one in arms["best deltas"].values()] == [(7, 1.0)]
    assert [(one.tokens, one.score) for one in arms["no processor"].values()] == [(70, 0.0)]
    assert [(one.tokens, one.score) for one in arms["no processor (validation)"].values()] == [(50, 1.0)]


def test_a_conversation_passes_if_an_attempt_does_and_all_attempts_are_paid() -> None:
    def answered(key: str, attempt: int, passed: bool | None, tokens: int) -> ConversationAnswered:
        return ConversationAnswered(
            conversation_id=key, axis="x", mode="always", memory_mode="flat", attempt=attempt, answer="",
            injected=True, reason="", passed=passed, controller_tokens=100, model_tokens=tokens, detector_tokens=1000,
        )  # fmt: skip

    events: list[Event] = [
        answered("a", 1, True, 3), answered("a", 0, False, 4), answered("b", 0, None, 5), answered("b", 1, False, 6),
        answered("c", 0, None, 7), answered("a", 1, True, 20),
    ]  # fmt: skip
    (items,) = read(SLSMReader(), events).values()
    assert [(one.id, one.score, one.right, one.tokens) for one in items.values()] == [
        ("a", 1.0, True, 2224), ("b", 0.0, False, 2211), ("c", None, None, 1107),
    ]  # fmt: skip
    assert items["a"].places == (LogPlace(1, 1), LogPlace(5, 1)), "by attempt, each as it was told last"


def test_of_a_conversation_the_last_message_is_the_question_and_all_of_it_is_asked() -> None:
    opened = ConversationOpened(conversation_id="a", axis="x", turns=[["Hi", "Hello"], ["And now?"]])
    answer = ConversationAnswered(
        conversation_id="a", axis="x", mode="always", memory_mode="flat", attempt=0, answer="", injected=True,
        reason="",
    )  # fmt: skip
    (items,) = read(SLSMReader(), [opened, answer]).values()
    assert (items["a"].question, items["a"].asked) == ("And now?", "Hi\nHello\nAnd now?")


def test_golds_in_another_order_ask_the_same() -> None:
    event = one_of(EvidenceAnswered, gflownet_events())
    one, other = (
        read(GFlowNetReader(), [replace(event, golds=golds)])[event.method][event.sample_id].asked
        for golds in (["Rome", "Oslo"], ["Oslo", "Rome"])
    )
    assert one == other


def test_a_question_s_paths_meet_an_answer_or_not() -> None:
    def sampled(key: str, *met: list[str]) -> QuestionSampled:
        question = one_of(QuestionSampled, gflownet_events())
        paths = [replace(question.paths[0], answers=answers) for answers in met]
        return replace(question, sample_id=key, golds=["a"], paths=paths)

    def answer(key: str, hit: bool) -> EvidenceAnswered:
        event = one_of(EvidenceAnswered, gflownet_events())
        return replace(event, method="beam", sample_id=key, prompt_tokens=12, hit=hit)

    events: list[Event] = [
        sampled("1", [], ["a"]),
        sampled("2", [], []),
        answer("1", False),
        answer("2", True),
    ]
    arms = read(GFlowNetReader(), events)
    assert {
        name: [(i.id, i.score, i.right, i.tokens) for i in items.values()] for name, items in arms.items()
    } == {
        "drawn paths": [("1", 1.0, True, None), ("2", 0.0, False, None)],
        "beam": [("1", 0.0, False, 12), ("2", 1.0, True, 12)],
    }


@pytest.mark.parametrize(
    ("scores", "mean", "right"),
    [
        ([1.0], 1.0, True), ([1 - 1e-9], 1 - 1e-9, True), ([0.9], 0.9, False), ([None], None, None),
        ([1.0, 0.0, 0.5], 0.5, None), ([1.0, 1.0], 1.0, None), ([1.0, None], None, None),
    ],
)  # fmt: skip
def test_several_picks_have_a_mean_and_no_right_or_wrong(
    scores: list[float | None], mean: float | None, right: bool | None
) -> None:
    event = one_of(SelectorPicked, pool_events())
    picks = [replace(event.picks[0], method="random", score=score) for score in scores]
    other = replace(event.picks[0], method="rices", score=0.3)
    event = replace(event, query_id="q", picks=[*picks, other])
    arms = read(PoolReader(), [event])
    assert arms["random"]["q"].score == (None if mean is None else pytest.approx(mean))
    assert arms["random"]["q"].right is right and arms["rices"]["q"].score == 0.3


def test_a_query_s_best_pair_before_and_after() -> None:
    event = replace(one_of(PoolQueryDone, pool_events()), query_id="q", oracle_before=0.3, oracle_after=1.0)
    arms = read(PoolReader(), [event])
    found = {name: (items["q"].score, items["q"].right) for name, items in arms.items()}
    assert found == {"before injection": (0.3, False), "after injection": (1.0, True)}
