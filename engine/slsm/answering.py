"""Answers conversations under each mode (spec SLSM, the four flows).

The same prompt is sent once, whichever modes need it, and each of them is charged for it as if it ran alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from engine.events import ConversationAnswered
from engine.run.keyed_records import KeyedRecords
from engine.run.stage import StageContext
from engine.servers.side_by_side import for_each_side_by_side
from engine.servers.spent import Spent
from engine.slsm.chat_model import ChatAsk, ChatModel
from engine.slsm.controllers.controller import Controller, Detection
from engine.slsm.controllers.state_tracking import Following
from engine.slsm.judges.verdicts import Judging
from engine.slsm.outcome import Detected, Given, answered, conflicts_of
from engine.slsm.policy import Decision, Mode, decide, note_of
from engine.slsm.records import (
    AnswerKey,
    AnswerRecord,
    Case,
    DetectionKey,
    DetectionRecord,
    VerdictRecord,
)
from engine.slsm.state import MemoryMode
from engine.slsm.turns import Conversation

NO_MEMORY = "none"
"""The memory mode of `baseline`, which has none."""
Variant = tuple[Mode, str]
"""A mode, and structured, flat or none."""


@dataclass(frozen=True)
class Kept:
    """What was answered, detected and judged."""

    answers: KeyedRecords[AnswerKey, AnswerRecord]
    detections: KeyedRecords[DetectionKey, DetectionRecord]
    verdicts: KeyedRecords[Case, VerdictRecord]


class Answering:
    """Runs variants over conversations whose states are known."""

    def __init__(
        self,
        context: StageContext,
        following: Following,
        controller: Controller,
        model: ChatModel,
        judging: Judging | None,
        kept: Kept,
    ) -> None:
        self.context = context
        self.section = context.config.slsm
        self.following = following
        self.controller = controller
        self.model = model
        self.judging = judging
        self.kept = kept

    def run(
        self, conversations: Sequence[Conversation], variants: Sequence[Variant]
    ) -> list[ConversationAnswered]:
        """Every variant on every conversation, in the order of the variants."""
        attempts = range(self.section.attempts)
        cases = [
            (conversation, variant, attempt)
            for variant in variants
            for conversation in conversations
            for attempt in attempts
        ]
        self._answer((one, attempt, self._first_note(one, variant)) for one, variant, attempt in cases)
        watched = [
            (one, variant[1], attempt) for one, variant, attempt in cases if variant[0] == "on_detection"
        ]
        self._detect(watched)
        self._answer(
            (one, attempt, self._note(one, memory))
            for one, memory, attempt in watched
            if self.kept.detections[one.id, memory, attempt].conflicts
        )
        found = [self._result(*case) for case in cases]
        if self.judging is not None:
            self.judging.run((event.conversation_id, event.answer) for event in found)
        return [self._judged(event) for event in found]

    # ------------------------------------------------------------ what is asked

    def _note(self, conversation: Conversation, memory: str) -> str:
        return "" if memory == NO_MEMORY else note_of(
            self.following.state(conversation, _mode(memory)), self.section.note_max_items
        )  # fmt: skip

    def _decision(self, conversation: Conversation, variant: Variant) -> Decision:
        mode, memory = variant
        if memory == NO_MEMORY:
            return Decision(False, "baseline: no controller")
        state = self.following.state(conversation, _mode(memory))
        return decide(mode, state, self._note(conversation, memory), self.section.risk_modes)

    def _first_note(self, conversation: Conversation, variant: Variant) -> str:
        return self._note(conversation, variant[1]) if self._decision(conversation, variant).inject else ""

    def _answer(self, wanted: Iterable[tuple[Conversation, int, str]]) -> None:
        missing = {
            (one.id, attempt, note): one
            for one, attempt, note in wanted
            if (one.id, attempt, note) not in self.kept.answers
        }
        keys = list(missing)
        for first in range(0, len(keys), self.section.batch_size):
            self.context.checkpoint()
            part = keys[first : first + self.section.batch_size]
            asks = [
                ChatAsk(tuple(missing[key].messages(key[2])), self.context.seed(f"answer {key[0]}", key[1]))
                for key in part
            ]
            for key, answer in zip(part, self.model.answer(asks, self.context.checkpoint), strict=True):
                self.kept.answers.add(
                    AnswerRecord(
                        conversation_id=key[0], attempt=key[1], note=key[2], answer=answer.text,
                        cost=answer.spent,
                    )
                )  # fmt: skip

    def _detect(self, wanted: Iterable[tuple[Conversation, str, int]]) -> None:
        missing = [case for case in wanted if (case[0].id, case[1], case[2]) not in self.kept.detections]

        def look(case: tuple[Conversation, str, int]) -> Detection:
            conversation, memory, attempt = case
            first = self.kept.answers[conversation.id, attempt, ""]
            state = self.following.state(conversation, _mode(memory))
            return self.controller.detect(state, conversation.turns, first.answer)

        def keep(case: tuple[Conversation, str, int], found: Detection) -> None:
            conversation, memory, attempt = case
            self.kept.detections.add(
                DetectionRecord(
                    conversation_id=conversation.id, memory_mode=memory, attempt=attempt,
                    conflicts=conflicts_of(found),
                    failure=found.failure, cost=found.spent,
                )
            )  # fmt: skip

        for_each_side_by_side(look, missing, self.section.concurrency, keep, self.context.checkpoint)

    # ------------------------------------------------------------ what comes of it

    def _result(self, conversation: Conversation, variant: Variant, attempt: int) -> ConversationAnswered:
        """Not judged yet."""
        mode, memory = variant
        decision, note = self._decision(conversation, variant), self._first_note(conversation, variant)
        first, second, detected = self._given(conversation, attempt, note), None, None
        if mode == "on_detection":
            found = self.kept.detections[conversation.id, memory, attempt]
            detected = Detected(found.conflicts, found.failure, found.cost)
            note = self._note(conversation, memory) if found.conflicts else ""
            second = self._given(conversation, attempt, note) if note else None
        controller = Spent() if memory == NO_MEMORY else self.following.cost(conversation, _mode(memory))
        tokens = self.model.count_tokens(note) if note else 0
        return answered(
            conversation, variant, attempt, decision, note, tokens, first, controller, detected, second
        )

    def _given(self, conversation: Conversation, attempt: int, note: str) -> Given:
        record = self.kept.answers[conversation.id, attempt, note]
        return Given(record.answer, record.cost)

    def _judged(self, event: ConversationAnswered) -> ConversationAnswered:
        record = self.kept.verdicts.get((event.conversation_id, event.answer))
        if record is None:
            return event
        return msgspec.structs.replace(event, passed=record.passed, verdict=record.reason)


def _mode(memory: str) -> MemoryMode:
    return "flat" if memory == "flat" else "structured"
