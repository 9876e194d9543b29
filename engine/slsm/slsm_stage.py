"""The stage `slsm`: conversations under each mode of injection and each kind of memory (spec SLSM)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from engine.config.slsm import WITHOUT_MEMORY, SLSMSection
from engine.errors import DataError
from engine.events import ConversationAnswered, ModeScored, SLSMBegan, without_envelope
from engine.files import csv_text, write_atomic
from engine.run.keyed_records import KeyedRecords
from engine.run.stage import StageContext, StageResult
from engine.seeds import derive_seed
from engine.slsm import layout
from engine.slsm.answering import NO_MEMORY, AnsweringRecords, ConversationAnswerer, Variant
from engine.slsm.controllers.controller import NoController
from engine.slsm.controllers.state_tracking import StateTracker
from engine.slsm.from_config import make_chat_model, make_controller, make_dialogues, make_judge
from engine.slsm.judges.judge import check_exact
from engine.slsm.judges.mode_verdict import compared_variant, mode_verdict
from engine.slsm.judges.published_score import AXES, score_as_published
from engine.slsm.judges.scoring import score_mode
from engine.slsm.judges.verdicts import JudgeRunner
from engine.slsm.model_turns import ModelTurns
from engine.slsm.policy import DETECTING
from engine.slsm.published_answers import PublishedAnswers
from engine.slsm.records import ChatAnswerRecord, DetectionRecord, StateRecord, TurnRecord, VerdictRecord
from engine.slsm.state import MemoryMode
from engine.slsm.turns import Conversation

ResultKey = tuple[str, str, str, int]
"""A conversation's id, mode, memory mode, attempt."""


def variants_of(section: SLSMSection) -> list[Variant]:
    """The configured modes with their memory modes; one without a memory occurs once."""
    memories = section.compare_memory or [section.memory_mode]
    return list(
        dict.fromkeys(
            (mode, memory)
            for mode in section.modes
            for memory in ([NO_MEMORY] if mode in WITHOUT_MEMORY else memories)
        )
    )


class RunSLSM:
    """Tracks states, answers, judges and scores, batch by batch; a resumed run repeats no finished work."""

    def run(self, context: StageContext) -> StageResult:
        return _SLSMRun(context).run()


class _SLSMRun:
    def __init__(self, context: StageContext) -> None:
        self.context = context
        self.section = context.config.slsm
        run_dir = context.run_dir
        self.dialogues = make_dialogues(context)
        self.variants = variants_of(self.section)
        used = {memory for _, memory in self.variants}
        self.memories: list[MemoryMode] = [memory for memory in ("structured", "flat") if memory in used]
        self.judge = make_judge(context) if self.dialogues.criteria else None
        self.judge_name = "none" if self.judge is None else self.judge.name
        self.controller = make_controller(context) if self.section.uses_controller else NoController()
        self.model = make_chat_model(context, self.dialogues)
        published = self.model if isinstance(self.model, PublishedAnswers) else None
        self.attempts = self.section.attempts if published is None else published.attempts
        self.deviations = () if published is None else published.deviations
        turns = KeyedRecords(layout.turns(run_dir), TurnRecord, TurnRecord.key)
        self.model_turns = ModelTurns(context, self.model, turns)
        states = KeyedRecords(layout.states(run_dir), StateRecord, StateRecord.key)
        self.tracker = StateTracker(context, self.controller, states)
        self.records = AnsweringRecords(
            KeyedRecords(layout.answers(run_dir), ChatAnswerRecord, ChatAnswerRecord.key),
            KeyedRecords(layout.detections(run_dir), DetectionRecord, DetectionRecord.key),
            KeyedRecords(layout.verdicts(run_dir), VerdictRecord, VerdictRecord.key),
        )
        self.results = KeyedRecords(layout.results(run_dir), ConversationAnswered, _result_key)
        judge = None
        if self.judge is not None:
            judge = JudgeRunner(context, self.judge, self.dialogues.criteria, self.records.verdicts)
        self.answering = ConversationAnswerer(
            context, self.tracker, self.controller, self.model, judge, self.records, self.attempts
        )

    def run(self) -> StageResult:
        conversations, size = self.dialogues.conversations, self.section.batch_size
        self._begin()
        # Whole batches, also in a resumed run: batches and the order of lines stay the same.
        batches = [conversations[first : first + size] for first in range(0, len(conversations), size)]
        todo = [batch for batch in batches if self._lacks_records or not all(map(self._is_finished, batch))]
        done = len(conversations) - sum(map(len, todo))
        self.context.start(len(conversations), done, unit="conversations")
        for batch in todo:
            self.context.checkpoint()
            self._answer_batch(batch)
            done += len(batch)
            self.context.progress(done, len(conversations))
        return self._result(self._score())

    def _begin(self) -> None:
        self.context.emit(
            SLSMBegan(
                conversations=len(self.dialogues.conversations),
                variants=[list(variant) for variant in self.variants],
                controller=self.controller.name,
                model=self.model.name,
                judge=self.judge_name,
                dataset=self.dialogues.name,
                dataset_hash=self.dialogues.digest,
                axes=self.dialogues.axes,
                detector=self.detector,
                compared=(compared_variant(self.variants, self.section.inject) or ("",))[0],
            )
        )
        if self.section.judge.kind == "exact" and (undecided := check_exact(self.dialogues.criteria)):
            text = f"the exact judge cannot judge {undecided} of {len(self.dialogues.criteria)} conversations"
            self.context.notice(f"{text}: they are answered, not scored", level="warning")
        for deviation in self.deviations:
            self.context.notice(f"slsm.answers.path: {deviation}", level="warning")
        if left := self.dialogues.left_out:
            kept = len(self.dialogues.conversations)
            text = f"slsm.data.conversations = {kept} leaves out {left} of {kept + left} conversations"
            self.context.notice(text, level="warning")

    @property
    def detector(self) -> str:
        """What looks for conflicts; "" where no mode does."""
        return self.section.detector if DETECTING.intersection(self.section.modes) else ""

    def _keys(self, conversation: Conversation, variant: Variant) -> list[ResultKey]:
        return [(conversation.id, *variant, attempt) for attempt in range(self.attempts)]

    @property
    def _lacks_records(self) -> bool:
        """Whether a file that results come from was removed, or there is none yet: what it held is done again."""
        kept = self.records
        return not (
            kept.answers
            and (self.tracker.states or not self.memories)
            and (kept.detections or not self.detector)
            and (kept.verdicts or self.judge is None)
        )

    def _is_finished(self, conversation: Conversation) -> bool:
        """Whether its results are kept, which are written last."""
        return all(
            key in self.results for variant in self.variants for key in self._keys(conversation, variant)
        )

    def _answer_batch(self, conversations: Sequence[Conversation]) -> None:
        conversations = self.model_turns.fill(conversations)
        self.tracker.track(conversations, self.memories)
        reported: dict[ResultKey, ConversationAnswered] = {}

        def report(event: ConversationAnswered) -> None:
            key = _result_key(event)
            if key not in self.results and reported.get(key) != event:
                reported[key] = event
                self.context.emit(event)

        for event in self.answering.run(conversations, self.variants, report):
            report(event)
            if _result_key(event) not in self.results:
                self.results.add(event)

    # ------------------------------------------------------------ scores and summary

    def _score(self) -> list[ModeScored]:
        seed, answers = derive_seed(self.context.config.run.seed, "slsm", "bootstrap"), self._by_variant
        baseline = answers.get(("baseline", NO_MEMORY), [])
        scored = [score_mode(answers[one], baseline, self._failures(one), seed) for one in self.variants]
        for row in scored:
            self.context.emit(row)
        return scored

    @property
    def _by_variant(self) -> dict[tuple[str, str], list[ConversationAnswered]]:
        talks = self.dialogues.conversations
        return {
            (mode, memory): [self.results[key] for talk in talks for key in self._keys(talk, (mode, memory))]
            for mode, memory in self.variants
        }

    def _failures(self, variant: Variant) -> int:
        """Failures of the controller under a variant: lost updates, and failed detections."""
        mode, memory = variant
        turns = [record for record in self.tracker.states.values() if record.memory_mode == memory]
        detections = [record for record in self.records.detections.values() if record.memory_mode == memory]
        lost = sum(bool(record.event.failure) for record in turns)
        return lost + (sum(bool(record.failure) for record in detections) if mode in DETECTING else 0)

    def _warn(self, about: Mapping[str, int]) -> None:
        """Tell what makes the figures say less than they seem to."""
        answers = self.records.answers.values()
        if about["cut"]:
            limit = f"slsm.max_new_tokens = {self.section.answer_tokens}"
            text = f"{about['cut']} of {len(answers)} answers were cut at {limit}: raise it"
            self.context.notice(text, level="warning")
        if about["unanswered"]:
            text = f"{about['unanswered']} of {len(answers)} requests gave no answer, which counts as failed"
            self.context.notice(f"{text}; the first is {_first_failure(answers)}", level="warning")

    def _as_published(self) -> dict[str, float]:
        """For MultiChallenge: scores counted as its authors do."""
        if self.section.data.path is None or not set(self.dialogues.axes) <= AXES:
            return {}
        return {
            f"score_as_published_{mode}_{memory}": round(score, 4)
            for (mode, memory), answers in self._by_variant.items()
            if (score := score_as_published(answers)) is not None
        }

    def _nothing_judged(self) -> DataError:
        verdicts = self.records.verdicts.values()
        why = next(
            (record.reason for record in verdicts if record.passed is None), "there was no answer to judge"
        )
        return DataError(
            what=f"no answer was judged, so there is no score: {why}",
            where="slsm.judge",
            hint="set `kind: none` for a run without scores, or another judge in a new run; the answers are kept",
        )

    def _result(self, scored: Sequence[ModeScored]) -> StageResult:
        run_dir, answers = self.context.run_dir, self._by_variant
        seed = derive_seed(self.context.config.run.seed, "slsm", "pairs")
        write_atomic(layout.modes(run_dir), csv_text([_row(item) for item in scored]))
        detections = self.records.detections.values()
        counts = {
            "controller_failures": self.tracker.failures() + sum(bool(one.failure) for one in detections),
            "unjudged": sum(record.passed is None for record in self.records.verdicts.values()),
            "cut": sum(record.cut for record in self.records.answers.values()),
            "unanswered": sum(bool(record.failure) for record in self.records.answers.values()),
        }
        about = {
            "dataset": self.dialogues.name,
            "dataset_hash": self.dialogues.digest,
            "conversations": len(self.dialogues.conversations),
            "controller": self.controller.name,
            "detector": self.detector,
            "model": self.model.name,
            "judge": self.judge_name,
        }
        scores = {
            f"score_{item.mode}_{item.memory_mode}": round(item.score, 4)
            for item in scored
            if item.score is not None
        }
        published = self._as_published() if scores else {}
        text = json.dumps({**about, **counts, **scores, **published}, indent=1)
        write_atomic(layout.summary(run_dir), text + "\n")
        files = [layout.results, layout.states, layout.modes, layout.summary]
        self._warn(counts)
        if self.judge is not None and (not scores or 0 < counts["unjudged"] == len(self.records.verdicts)):
            raise self._nothing_judged()
        written = [str(path(run_dir).relative_to(run_dir)) for path in files]
        return StageResult({**counts, **scores}, written, mode_verdict(answers, seed, self.section.inject))


def _first_failure(records: Iterable[ChatAnswerRecord]) -> str:
    failed = next(record for record in records if record.failure)
    return f"{failed.conversation_id}: {failed.failure}"


def _result_key(result: ConversationAnswered) -> ResultKey:
    return result.conversation_id, result.mode, result.memory_mode, result.attempt


def _row(item: ModeScored) -> dict[str, object]:
    """A row of `modes.csv`, with a column for each axis."""
    plain = without_envelope(item)
    axes = plain.pop("by_axis")
    return {**plain, **{str(axis): score for axis, score, *_ in axes}}
