"""Which answer counts, and what it cost, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.events import AnswerConflict
from engine.servers.spent import Spent
from engine.slsm.chat_model import ChatAnswer
from engine.slsm.controllers.controller import Detection
from engine.slsm.outcome import answer_event, reason_of
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
    assert (event.conversation_id, event.axis, event.mode, event.memory_mode) == (
        "c1",
        "memory",
        "always",
        "flat",
    )
    assert (event.note, event.note_tokens, event.injected, event.cut) == ("the note", 7, True, False)


CONFLICT = AnswerConflict(item="dog", why="another name", exact=False)


@pytest.mark.parametrize(
    ("detected", "note", "reason"),
    [
        (Detection(), "", "no conflict"),
        (Detection((), "no JSON"), "", "the detector gave no reply"),
        (Detection((CONFLICT,)), "the note", "the first answer goes against the memory"),
        (Detection((CONFLICT,), "no JSON"), "the note", "the first answer goes against the memory"),
        (
            Detection((CONFLICT,)), "",
            "the first answer goes against the memory, but the memory has nothing for a note",
        ),
    ],
)  # fmt: skip
def test_what_a_detection_led_to(detected: Detection, note: str, reason: str) -> None:
    assert reason_of(detected, note) == reason


def test_a_detection_that_fails() -> None:
    detected = Detection((), "no JSON", Spent(2, 9, 0.1))
    event = answer_event(
        CONVERSATION, ("on_detection", "flat"), 0, Decision(False, "later"), "", 0, replace(FIRST, failure="refused"),
        Spent(1, 4, 0.3), detected,
    )  # fmt: skip
    assert (event.injected, event.reason) == (False, "the detector gave no reply")
    assert event.detector_failure == "no JSON"
    assert (event.failure, event.first_answer, event.conflicts) == ("refused", "", [])
    assert (event.cost, event.tokens) == (0.65, 20 + 4 + 9), "0.25 + 0.3 + 0.1"
