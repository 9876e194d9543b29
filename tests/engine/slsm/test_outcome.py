"""Which answer counts, and what it cost, by hand."""

from __future__ import annotations

from engine.events import AnswerConflict
from engine.servers.spent import Spent
from engine.slsm.chat_model import ChatAnswer
from engine.slsm.controllers.controller import Detection
from engine.slsm.outcome import answer_event
from engine.slsm.policy import Decision
from engine.slsm.turns import Conversation, Turn

CONVERSATION = Conversation("c1", (Turn("What is my dog?"),), "memory")
FIRST = ChatAnswer("A cat.", Spent(1, 20, 0.25))
SECOND = ChatAnswer("Rex.", Spent(1, 30, 0.5), cut=True)


def test_a_second_answer_counts_and_both_are_paid() -> None:
    """A detection is one call in the table of cost, however many requests it took; its tokens are all there."""
    conflict = AnswerConflict(item="dog", why="another name", exact=False)
    detected = Detection((conflict,), "", Spent(3, 70, 1.0))
    event = answer_event(
        CONVERSATION, ("on_detection", "flat"), 0, Decision(False, "later"), "the note", 7, FIRST, Spent(2, 11, 2.0),
        detected, SECOND,
    )  # fmt: skip
    assert (event.answer, event.first_answer, event.cut, event.injected) == ("Rex.", "A cat.", True, True)
    assert (event.controller_calls, event.controller_tokens) == (2, 11)
    assert (event.detector_calls, event.detector_tokens) == (1, 70)
    assert (event.model_calls, event.model_tokens, event.cost) == (2, 50, 3.75)
    assert event.conflicts == [conflict] and event.reason == "the first answer goes against the memory"


def test_without_a_second_answer_the_first_counts() -> None:
    event = answer_event(
        CONVERSATION, ("always", "flat"), 1, Decision(True, "always"), "the note", 7, FIRST, Spent()
    )
    assert (event.answer, event.first_answer, event.reason, event.attempt) == ("A cat.", "", "always", 1)
    assert (event.detector_calls, event.model_calls, event.model_tokens, event.cost) == (0, 1, 20, 0.25)
