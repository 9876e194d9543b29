"""The stage `slsm`: conversations under each mode of injection and each kind of memory (spec SLSM)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from engine.config.slsm import SLSMSection
from engine.events import ConversationAnswered, ModeScored, SLSMBegan, without_envelope
from engine.files import csv_text, write_atomic
from engine.run.keyed_records import KeyedRecords
from engine.run.stage import StageContext, StageResult
from engine.seeds import derive_seed
from engine.slsm import layout
from engine.slsm.answering import NO_MEMORY, Answering, Kept, Variant
from engine.slsm.controllers.state_tracking import Following
from engine.slsm.from_config import make_chat_model, make_controller, make_dialogues, make_judge
from engine.slsm.judges.scoring import score_mode
from engine.slsm.judges.verdicts import Judging
from engine.slsm.policy import Mode
from engine.slsm.records import AnswerRecord, DetectionRecord, StateRecord, VerdictRecord
from engine.slsm.state import MemoryMode
from engine.slsm.turns import Conversation

ResultKey = tuple[str, str, str, int]
"""A conversation's id, mode, memory mode, attempt."""


def variants_of(section: SLSMSection) -> list[Variant]:
    """Modes and memory modes that the configuration asks for; `baseline` has no memory and comes once."""
    single: Mode = "baseline" if section.disable_controller else section.inject
    modes: Sequence[Mode] = section.compare or [single]
    memories = section.compare_memory or [section.memory_mode]
    found: list[Variant] = []
    for mode in modes:
        of_mode: list[Variant] = [
            (mode, memory) for memory in ([NO_MEMORY] if mode == "baseline" else memories)
        ]
        found += of_mode
    return list(dict.fromkeys(found))


class RunSLSM:
    """Follows, answers, judges and scores, some conversations at a time; nothing that was done is done again."""

    name = "slsm"

    def run(self, context: StageContext) -> StageResult:
        layout.folder(context.run_dir).mkdir(parents=True, exist_ok=True)
        return _Run(context).run()


class _Run:
    def __init__(self, context: StageContext) -> None:
        self.context = context
        self.section = context.config.slsm
        run_dir = context.run_dir
        self.dialogues = make_dialogues(context)
        self.variants = variants_of(self.section)
        self.memories: list[MemoryMode] = [
            memory
            for memory in ("structured", "flat")
            if any(memory == variant[1] for variant in self.variants)
        ]
        self.judge = make_judge(context) if self.dialogues.criteria else None
        self.controller = make_controller(context)
        self.model = make_chat_model(context)
        states = KeyedRecords(layout.states(run_dir), StateRecord, StateRecord.key)
        self.following = Following(context, self.controller, states)
        self.kept = Kept(
            KeyedRecords(layout.answers(run_dir), AnswerRecord, AnswerRecord.key),
            KeyedRecords(layout.detections(run_dir), DetectionRecord, DetectionRecord.key),
            KeyedRecords(layout.verdicts(run_dir), VerdictRecord, VerdictRecord.key),
        )
        self.results = KeyedRecords(layout.results(run_dir), ConversationAnswered, _result_key)
        judging = None
        if self.judge is not None:
            judging = Judging(context, self.judge, self.dialogues.criteria, self.kept.verdicts)
        self.answering = Answering(context, self.following, self.controller, self.model, judging, self.kept)

    def run(self) -> StageResult:
        conversations, size = self.dialogues.conversations, self.section.batch_size
        self._begin()
        # Whole batches, also after a stop: the same conversations meet, and the same lines follow each other.
        batches = [conversations[first : first + size] for first in range(0, len(conversations), size)]
        todo = [batch for batch in batches if not all(map(self._finished, batch))]
        done = len(conversations) - sum(map(len, todo))
        self.context.start(len(conversations), done, unit="conversations")
        for batch in todo:
            self.context.checkpoint()
            self._do(batch)
            done += len(batch)
            self.context.progress(done, len(conversations))
        return self._result(self._score())

    def _begin(self) -> None:
        judge = "none" if self.judge is None else self.judge.name
        self.context.emit(
            SLSMBegan(
                conversations=len(self.dialogues.conversations),
                variants=[list(variant) for variant in self.variants],
                controller=self.controller.name,
                model=self.model.name,
                judge=judge,
                dataset=self.dialogues.name,
                dataset_hash=self.dialogues.digest,
                axes=self.dialogues.axes,
            )
        )

    def _keys(self, conversation: Conversation) -> list[ResultKey]:
        return [
            (conversation.id, *variant, attempt)
            for variant in self.variants
            for attempt in range(self.section.attempts)
        ]

    def _finished(self, conversation: Conversation) -> bool:
        return all(key in self.results for key in self._keys(conversation))

    def _do(self, conversations: Sequence[Conversation]) -> None:
        self.following.follow(conversations, self.memories)
        for event in self.answering.run(conversations, self.variants):
            if _result_key(event) not in self.results:
                self.context.emit(event)
                self.results.add(event)

    # ------------------------------------------------------------ the end

    def _score(self) -> list[ModeScored]:
        seed = derive_seed(self.context.config.run.seed, "slsm", "bootstrap")
        by_variant = {variant: self._of(variant) for variant in self.variants}
        baseline = by_variant.get(("baseline", NO_MEMORY), [])
        scored = [
            score_mode(own, baseline, self._failures(variant), seed) for variant, own in by_variant.items()
        ]
        for row in scored:
            self.context.emit(row)
        return scored

    def _of(self, variant: Variant) -> list[ConversationAnswered]:
        return [
            self.results[one.id, *variant, attempt]
            for one in self.dialogues.conversations
            for attempt in range(self.section.attempts)
        ]

    def _failures(self, variant: Variant) -> int:
        """Of the controller: turns whose update was lost, and detections."""
        mode, memory = variant
        turns = [record for record in self.following.states.values() if record.memory_mode == memory]
        looks = [record for record in self.kept.detections.values() if record.memory_mode == memory]
        lost = sum(bool(record.event.failure) for record in turns)
        return lost + (sum(bool(record.failure) for record in looks) if mode == "on_detection" else 0)

    def _result(self, scored: Sequence[ModeScored]) -> StageResult:
        run_dir = self.context.run_dir
        write_atomic(layout.modes(run_dir), csv_text([_row(item) for item in scored]))
        unjudged = sum(record.passed is None for record in self.kept.verdicts.values())
        about = {
            "dataset": self.dialogues.name,
            "dataset_hash": self.dialogues.digest,
            "conversations": len(self.dialogues.conversations),
            "controller": self.controller.name,
            "model": self.model.name,
            "judge": "none" if self.judge is None else self.judge.name,
            "controller_failures": self.following.failures()
            + sum(bool(record.failure) for record in self.kept.detections.values()),
            "unjudged": unjudged,
        }
        scores = {} if self.judge is None else {
            f"score_{item.mode}_{item.memory_mode}": round(item.score, 4) for item in scored
        }  # fmt: skip
        write_atomic(layout.summary(run_dir), json.dumps({**about, **scores}, indent=1) + "\n")
        files = [layout.results, layout.states, layout.modes, layout.summary]
        told = {"controller_failures": about["controller_failures"], "unjudged": unjudged, **scores}
        return StageResult(told, [str(path(run_dir).relative_to(run_dir)) for path in files])


def _result_key(result: ConversationAnswered) -> ResultKey:
    return result.conversation_id, result.mode, result.memory_mode, result.attempt


def _row(item: ModeScored) -> dict[str, object]:
    """A line of the table: axes side by side."""
    plain = without_envelope(item)
    axes = plain.pop("by_axis")
    if not item.judged:
        plain |= dict.fromkeys(("score", "low", "high"))
    return {**plain, **{f"{axis}": score for axis, score, *_ in axes}}
