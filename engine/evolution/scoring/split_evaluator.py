"""Evaluation of a split of an iteration: its questions answered, judged, stored and scored, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path

import msgspec

from engine.errors import SteerError
from engine.events import AnswerJudged, AnswersScored, ServerChanged
from engine.evolution import layout
from engine.evolution.answers import AnswerRecord, CutVerdict
from engine.evolution.deltas import Deltas
from engine.evolution.evolution_run import EvolutionRun
from engine.evolution.judges.judge import Verdict, judge_with_retries
from engine.evolution.processor import generate_processor
from engine.evolution.questions import ask
from engine.evolution.scoring.score import Outcome, Score, score
from engine.evolution.splits import BASELINE, MINIBATCH, ON_TEST, VALIDATION
from engine.lm.model_server import ModelAnswer
from engine.run.keyed_records import KeyedRecords
from engine.servers.side_by_side import Calls, for_each_side_by_side
from engine.servers.spent import Spent
from engine.tasks.example import TaskExample

Judging = Calls[tuple[int, ModelAnswer], AnswerRecord]
_AT_ONCE = 64
"""Most answers that are judged at the same time, each in a thread of its own."""


class SplitEvaluator:
    """Has the model server answer questions under given deltas, and the judge decide on the answers."""

    def __init__(self, evolution: EvolutionRun) -> None:
        self.evolution = evolution
        self.context = evolution.context
        key = attrgetter("split", "example_id", "cap")
        self._cut = KeyedRecords(layout.cut_verdicts(self.context.run_dir), CutVerdict, key)
        self.spent_on_caps = sum((one.usage for one in self._cut.values()), Spent())
        self._at_once = min(evolution.answers.batch, _AT_ONCE)
        self._examples = evolution.questions.by_id

    def examples(self, iteration: int, split: str) -> list[TaskExample]:
        """The questions of a split, in order."""
        questions = self.evolution.questions
        if split == MINIBATCH:
            return questions.minibatch(iteration)
        return list(questions.test if split in ON_TEST else questions.validation)

    def is_complete(self, iteration: int, split: str) -> bool:
        """Whether every question of the split is answered."""
        return len(self.evolution.answers.of_split(iteration, split)) == len(self.examples(iteration, split))

    # ------------------------------------------------------------ the server

    def serve(self, deltas: Deltas | None, file: Path | None = None) -> None:
        """Restart the server with a processor of `deltas` (spec Evolution 1, steps 1 to 3), written to `file` or else
        to the current processor's file."""
        evolution = self.evolution
        file = file or layout.processor(self.context.run_dir)
        self._announce_server("stopping")
        evolution.server.stop()
        self.context.checkpoint()
        if deltas is not None:
            generate_processor(file, evolution.clusters, deltas)
        self._announce_server("starting")
        try:
            processor = None if deltas is None else file
            evolution.server.start(processor, self.context.checkpoint)
        except SteerError:
            self._announce_server("failed")
            raise
        self._announce_server("healthy")

    def _announce_server(self, state: str) -> None:
        server = self.evolution.server
        self.context.emit(ServerChanged(state=state, server=server.name, log=server.log_tail()))

    # ------------------------------------------------------------ answers

    def ask(self, iteration: int, split: str, suffix: str = "") -> list[AnswerRecord]:
        """All answers of the split; `suffix` is put after each question. Each is judged when it is given, and reported
        when it is judged. Events of stored answers are emitted again without asking again; a split on which the judge
        failed altogether, which ended the stage, is judged again."""
        examples, file = self.examples(iteration, split), self.evolution.answers
        unjudged = file.take_unjudged(iteration, split) if self.is_complete(iteration, split) else []
        self._judge_again(unjudged)
        stored = file.of_split(iteration, split)
        for example, record in zip(examples, () if unjudged else stored, strict=False):
            self._announce(example, record)
        for first in range(len(stored), len(examples), file.batch):
            self.context.checkpoint()
            batch = examples[first : first + file.batch]
            asks = [ask(example, self.context.config, iteration, suffix) for example in batch]
            records: dict[int, AnswerRecord] = {}
            with self._judging(iteration, split, batch, records) as judging:
                answers = self.evolution.server.answer(
                    asks, lambda: self._wait(judging), lambda number, answer: judging.add((number, answer))
                )
            file.add([records[number] for number in range(len(batch))])
            self._progress(split, first + len(batch), len(examples), sum(len(a.tokens) for a in answers))
        return file.of_split(iteration, split)

    def _judge_again(self, records: Sequence[AnswerRecord]) -> None:
        """Judge stored answers again; their earlier cost stays counted."""
        for first in range(0, len(records), self.evolution.answers.batch):
            self.context.checkpoint()
            batch = records[first : first + self.evolution.answers.batch]
            examples = [self._examples[record.example_id] for record in batch]
            judged: dict[int, AnswerRecord] = {}
            with self._judging(batch[0].iteration, batch[0].split, examples, judged) as judging:
                for number, record in enumerate(batch):
                    judging.add((number, ModelAnswer(record.answer, record.token_ids)))
            self.evolution.answers.add(
                [
                    msgspec.structs.replace(judged[number], usage=old.usage + judged[number].usage)
                    for number, old in enumerate(batch)
                ]
            )

    def _wait(self, judging: Judging) -> None:
        judging.hand_over()
        self.context.checkpoint()

    def _judging(
        self,
        iteration: int,
        split: str,
        examples: Sequence[TaskExample],
        records: dict[int, AnswerRecord],
    ) -> Judging:
        """Judges answers to `examples`, given with their numbers, reports each and puts it into `records`. The judge,
        which may be a remote server, is called concurrently, also while other answers are still written."""

        def judge(given: tuple[int, ModelAnswer]) -> AnswerRecord:
            example, answer = examples[given[0]], given[1]
            verdict = self.verdict(example, answer.text)
            return AnswerRecord(
                iteration=iteration,
                split=split,
                example_id=example.id,
                answer=answer.text,
                token_ids=answer.tokens,
                correct=verdict.correct,
                reasoning=verdict.reasoning,
                cannot_tell=verdict.cannot_tell,
                usage=verdict.usage,
            )

        def report(given: tuple[int, ModelAnswer], record: AnswerRecord) -> None:
            records[given[0]] = record
            self._announce(examples[given[0]], record)

        return Calls(judge, self._at_once, report)

    def verdict(self, example: TaskExample, text: str) -> Verdict:
        """The judge's verdict on an answer, or why it failed after the configured attempts."""
        attempts = self.context.config.evolution.judge.attempts
        golds = example.meta["answers"]
        return judge_with_retries(self.evolution.judge, example.question, golds, text, attempts)

    def cut(self, records: Sequence[AnswerRecord], cap: int) -> list[Outcome]:
        """What the answers are worth if each ends after at most `cap` tokens. Those that are cut are judged again,
        once: what a server says of them is kept as it arrives."""
        cut = {r.example_id: r for r in records if len(r.token_ids) > cap and not r.cannot_tell}
        right: dict[str, bool | None] = {
            name: kept.correct for name, r in cut.items() if (kept := self._cut.get((r.split, name, cap)))
        }

        def judge(record: AnswerRecord) -> Verdict:
            text = self.evolution.vocabulary.tokenizer.decode(record.token_ids[:cap])
            return self.verdict(self._examples[record.example_id], text)

        def keep(record: AnswerRecord, verdict: Verdict) -> None:
            name, right[record.example_id] = record.example_id, verdict.correct
            self.spent_on_caps += verdict.usage
            if verdict.correct is not None and verdict.usage.calls:
                self._cut.add(CutVerdict(record.split, name, cap, verdict.correct, verdict.usage))

        missing = [record for name, record in cut.items() if name not in right]
        for_each_side_by_side(judge, missing, self._at_once, keep, self.context.checkpoint)
        return [
            Outcome(min(len(r.token_ids), cap), right.get(r.example_id, r.correct), r.cannot_tell)
            for r in records
        ]

    # ------------------------------------------------------------ scores

    def score(self, iteration: int, split: str) -> Score:
        """Score of the stored answers of a split. Raises DataError when none was judged."""
        outcomes = [record.outcome for record in self.evolution.answers.of_split(iteration, split)]
        return score(outcomes, self.context.config.evolution.SHORTNESS_SCALE)

    def report_score(self, iteration: int, split: str, best: bool = False) -> Score:
        """Score a split and emit its event; with a warning if the judge failed on some answers."""
        figures = self.score(iteration, split)
        if figures.failures:
            text = f"the judge failed on {figures.failures} of {figures.answers} answers"
            place = f"{split} of iteration {iteration}"
            self.context.notice(f"{text} ({place}); they are left out", level="warning")
        self.context.emit(
            AnswersScored(iteration=iteration, split=split, best=best, **msgspec.structs.asdict(figures))
        )
        return figures

    def usage(self, iteration: int) -> Spent:
        """What judging this iteration cost."""
        splits = (MINIBATCH, VALIDATION) if iteration else (MINIBATCH, VALIDATION, BASELINE)
        return self.usage_of(*((iteration, split) for split in splits))

    def usage_of(self, *keys: tuple[int, str]) -> Spent:
        """What judging these splits of these iterations cost."""
        return sum(
            (record.usage for key in keys for record in self.evolution.answers.of_split(*key)), Spent()
        )

    # ------------------------------------------------------------ events

    def _announce(self, example: TaskExample, record: AnswerRecord) -> None:
        texts = self.evolution.vocabulary.texts
        self.context.emit(
            AnswerJudged(
                iteration=record.iteration,
                split=record.split,
                example=example.id,
                question=example.question,
                gold=example.answer,
                answer=record.answer,
                tokens=len(record.token_ids),
                correct=record.correct,
                cannot_tell=record.cannot_tell,
                reasoning=record.reasoning,
                pieces=[texts[token] for token in record.token_ids if token < len(texts)],
                clusters=self.evolution.clusters.of(record.token_ids),
            )
        )

    def _progress(self, split: str, done: int, total: int, tokens: int) -> None:
        iterations = self.context.config.evolution.iterations
        finished = len(self.evolution.history.iterations)
        place = f"iteration {finished}: " if split in (MINIBATCH, VALIDATION) else ""
        self.context.progress(finished, iterations, tokens, f"{place}{split} {done}/{total}")
