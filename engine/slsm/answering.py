"""Answers conversations under each mode (spec SLSM, the four flows).

Equal prompts of several modes are sent once; each mode is charged as if it ran alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from engine.events import ConversationAnswered
from engine.run.keyed_records import KeyedRecords
from engine.run.stage import StageContext
from engine.servers.side_by_side import ServerFailures, for_each_side_by_side
from engine.servers.spent import Spent
from engine.slsm.chat_model import ChatAnswer, ChatAsk, ChatModel
from engine.slsm.controllers.controller import Detection, MemoryController
from engine.slsm.controllers.state_tracking import StateTracker
from engine.slsm.judges.verdicts import FAILED_WITHOUT_VERDICT, JudgeRunner
from engine.slsm.outcome import answer_event
from engine.slsm.policy import DETECTING, Decision, Mode, decide, first_note, note_of, second_note
from engine.slsm.records import (
    AnswerKey,
    ChatAnswerRecord,
    DetectionKey,
    DetectionRecord,
    VerdictKey,
    VerdictRecord,
)
from engine.slsm.state import SemanticState, State
from engine.slsm.turns import Conversation

NO_MEMORY = "none"
"""Memory mode of `baseline` and `reminder`, which keep no memory."""
Variant = tuple[Mode, str]
"""A mode and its memory mode: structured, flat or none."""
Case = tuple[Conversation, Variant, int]
"""A conversation under a variant, and the attempt."""


@dataclass(frozen=True)
class AnsweringRecords:
    """Answers, detected conflicts and verdicts so far."""

    answers: KeyedRecords[AnswerKey, ChatAnswerRecord]
    detections: KeyedRecords[DetectionKey, DetectionRecord]
    verdicts: KeyedRecords[VerdictKey, VerdictRecord]


@dataclass
class ConversationAnswerer:
    """Runs variants over conversations whose states have been tracked. `attempts`: answers to each conversation under
    each variant."""

    context: StageContext
    tracker: StateTracker
    controller: MemoryController
    model: ChatModel
    judge: JudgeRunner | None
    records: AnsweringRecords
    attempts: int

    def __post_init__(self) -> None:
        self.section = self.context.config.slsm
        self._failures = ServerFailures(self.records.answers.add)
        self._fresh: dict[AnswerKey, ChatAnswer] = {}
        self._unanswered: dict[str, dict[Case, AnswerKey]] = {}
        self._unjudged: dict[str, dict[Case, ConversationAnswered]] = {}
        """Cases that are not reported yet, by conversation."""
        self._report: Callable[[ConversationAnswered], None] = lambda event: None

    def run(
        self,
        conversations: Sequence[Conversation],
        variants: Sequence[Variant],
        report: Callable[[ConversationAnswered], None],
    ) -> list[ConversationAnswered]:
        """Judged answers of every variant to every conversation, in the order of the variants. Each is reported as soon
        as it is given, and again when a judge that takes its time has judged it."""
        self._fresh, self._report = {}, report
        self._unanswered, self._unjudged = ({talk.id: {} for talk in conversations} for _ in range(2))
        for records in (self.records.answers, self.records.detections, self.records.verdicts):
            records.added = self._added
        attempts = range(self.attempts)
        cases = [
            (conversation, variant, attempt)
            for variant in variants
            for conversation in conversations
            for attempt in attempts
        ]
        for case in cases:
            talk, variant, attempt = case
            self._unanswered[talk.id][case] = talk.id, attempt, self._first_note(talk, variant)
        for talk in conversations:
            self._report_new(talk.id)
        self._answer((talk, attempt, self._first_note(talk, variant)) for talk, variant, attempt in cases)
        watched = [
            (talk, variant, attempt)
            for talk, variant, attempt in cases
            if variant[0] in DETECTING and not self.records.answers[talk.id, attempt, ""].failure
        ]
        self._detect((talk, memory, attempt) for talk, (_, memory), attempt in watched)
        self._answer(
            (talk, attempt, self._second_note(talk, variant))
            for talk, variant, attempt in watched
            if self.records.detections[talk.id, variant[1], attempt].conflicts
        )
        events = [self._result(*case) for case in cases]
        if self.judge is not None:
            self.judge.run((event.conversation_id, event.answer) for event in events if not event.failure)
        return [self._judged(event) for event in events]

    # ------------------------------------------------------------ prompts, answers, conflicts

    def _state(self, conversation: Conversation, memory: str) -> State:
        return SemanticState() if memory == NO_MEMORY else self.tracker.state(conversation, memory)

    def _note(self, conversation: Conversation, memory: str) -> str:
        return note_of(self._state(conversation, memory), self.section.note_max_items)

    def _decision(self, conversation: Conversation, variant: Variant) -> Decision:
        mode, memory = variant
        note = self._note(conversation, memory)
        return decide(mode, self._state(conversation, memory), note, self.section.risk_modes)

    def _first_note(self, conversation: Conversation, variant: Variant) -> str:
        note = self._note(conversation, variant[1])
        return first_note(variant[0], self._decision(conversation, variant), note)

    def _second_note(self, conversation: Conversation, variant: Variant) -> str:
        return second_note(variant[0], self._note(conversation, variant[1]))

    def _answer(self, requested: Iterable[tuple[Conversation, int, str]]) -> None:
        missing = {
            key: conversation
            for conversation, attempt, note in requested
            if (key := (conversation.id, attempt, note)) not in self.records.answers
        }
        keys = list(missing)
        for first in range(0, len(keys), self.section.batch_size):
            self.context.checkpoint()
            batch = keys[first : first + self.section.batch_size]
            asks = [
                ChatAsk(
                    tuple(missing[key].messages(key[2])),
                    self.context.seed(f"answer {key[0]}", key[1]),
                    *key[:2],
                )
                for key in batch
            ]
            keep, report = partial(self._keep, batch), partial(self._report_early, batch)
            self.model.answer(asks, self.context.checkpoint, keep, report)
        self._failures.end()

    def _keep(self, batch: Sequence[AnswerKey], number: int, answer: ChatAnswer) -> None:
        """Write an answer of a batch. Refusals that may be the server's, or the configuration's, are held until the
        model answers something; many in a row end the stage, and a resumed run asks again."""
        key = batch[number]
        record = ChatAnswerRecord(
            conversation_id=key[0], attempt=key[1], note=key[2], answer=answer.text, cost=answer.spent,
            cut=answer.cut, failure=answer.failure,
        )  # fmt: skip
        if answer.failure and answer.suspect is None:
            self.records.answers.add(record)
        else:
            self._failures.take(record, answer.suspect)

    def _detect(self, requested: Iterable[tuple[Conversation, str, int]]) -> None:
        cases = {(case[0].id, case[1], case[2]): case for case in requested}
        missing = [case for key, case in cases.items() if key not in self.records.detections]
        failures = ServerFailures(self.records.detections.add)

        def detect(case: tuple[Conversation, str, int]) -> Detection:
            conversation, memory, attempt = case
            first = self.records.answers[conversation.id, attempt, ""]
            return self.controller.detect(self._state(conversation, memory), conversation.turns, first.answer)

        def keep(case: tuple[Conversation, str, int], detection: Detection) -> None:
            conversation, memory, attempt = case
            record = DetectionRecord(
                conversation_id=conversation.id, memory_mode=memory, attempt=attempt,
                conflicts=list(detection.conflicts), failure=detection.failure, cost=detection.spent,
            )  # fmt: skip
            failures.take(record, detection.suspect)

        for_each_side_by_side(detect, missing, self.section.concurrency, keep, self.context.checkpoint)
        failures.end(len(missing), least=1)

    # ------------------------------------------------------------ results

    def _result(self, conversation: Conversation, variant: Variant, attempt: int) -> ConversationAnswered:
        """The event of an answer, without a verdict yet."""
        mode, memory = variant
        decision, note = self._decision(conversation, variant), self._first_note(conversation, variant)
        first, second, detected = self._model_answer(conversation, attempt, note), None, None
        if mode in DETECTING and not first.failure:
            record = self.records.detections[conversation.id, memory, attempt]
            detected = Detection(tuple(record.conflicts), record.failure, record.cost)
            note = self._second_note(conversation, variant) if record.conflicts else ""
            second = self._model_answer(conversation, attempt, note) if note else None
        controller = Spent() if memory == NO_MEMORY else self.tracker.cost(conversation, memory)
        tokens = self.model.count_tokens(note) if note else 0
        return answer_event(
            conversation, variant, attempt, decision, note, tokens, first, controller, detected, second
        )

    def _report_early(self, batch: Sequence[AnswerKey], number: int, answer: ChatAnswer) -> None:
        """Report an answer of a batch before it is kept, which happens in the order of the batch."""
        self._fresh[batch[number]] = answer
        self._report_new(batch[number][0])

    def _added(self, record: ChatAnswerRecord | DetectionRecord | VerdictRecord) -> None:
        self._report_new(record.conversation_id)

    def _report_new(self, conversation: str) -> None:
        """Report a conversation's answers that are there, and those that are judged, each once."""
        unanswered, unjudged = self._unanswered[conversation], self._unjudged[conversation]
        for case, first in list(unanswered.items()):
            if self._is_answered(case, first):
                del unanswered[case]
                unjudged[case] = self._result(*case)
                self._report(self._judged(unjudged[case]))
        for case, event in list(unjudged.items()):
            if (conversation, event.answer) in self.records.verdicts:
                self._report(self._judged(unjudged.pop(case)))

    def _is_answered(self, case: Case, first: AnswerKey) -> bool:
        """Whether the answer that counts has arrived: after a conflict the second one."""
        conversation, (mode, memory), attempt = case
        if not self._is_given(first):
            return False
        answer = self._fresh.get(first)
        if mode not in DETECTING or (answer or self.records.answers[first]).failure:
            return True
        detected = self.records.detections.get((conversation.id, memory, attempt))
        if detected is None or not detected.conflicts:
            return detected is not None
        return self._is_given((conversation.id, attempt, self._second_note(conversation, case[1])))

    def _is_given(self, key: AnswerKey) -> bool:
        return key in self._fresh or key in self.records.answers

    def _model_answer(self, conversation: Conversation, attempt: int, note: str) -> ChatAnswer:
        key = conversation.id, attempt, note
        if (fresh := self._fresh.get(key)) is not None:
            return fresh
        record = self.records.answers[key]
        return ChatAnswer(record.answer, record.cost, record.cut, record.failure)

    def _judged(self, event: ConversationAnswered) -> ConversationAnswered:
        if event.failure and self.judge is not None and event.conversation_id in self.judge.criteria:
            return msgspec.structs.replace(event, passed=False, verdict=f"no answer: {event.failure}")
        key = event.conversation_id, event.answer
        record = self.records.verdicts.get(key) or (self.judge.at_once(key) if self.judge else None)
        if record is None:
            return event
        if record.passed is None and self.section.judge.failures_fail:
            return msgspec.structs.replace(
                event, passed=False, verdict=f"{FAILED_WITHOUT_VERDICT}: {record.reason}"
            )
        return msgspec.structs.replace(event, passed=record.passed, verdict=record.reason)
