"""Asking a split of an iteration: served, answered, judged, kept and told, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from engine.errors import SteerError
from engine.events import AnswerJudged, ServerChanged
from engine.evolution import layout
from engine.evolution.answers import BASELINE, MINIBATCH, TEST, TEST_PLAIN, VALIDATION, AnswerRecord
from engine.evolution.deltas import Deltas
from engine.evolution.judges.judge import Unjudged, Verdict, judge_retrying
from engine.evolution.processor import generate_processor
from engine.evolution.questions import ask
from engine.evolution.score import Score, score
from engine.evolution.score_events import scored_event
from engine.evolution.setup import Setup
from engine.lm.model_server import Answer
from engine.servers.side_by_side import map_side_by_side
from engine.servers.spent import Spent
from engine.tasks.example import TaskExample


class Asking:
    """Speaks with server and judge."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.context = setup.context
        self.spent_on_caps = Spent()
        questions = setup.questions
        self._examples = {e.id: e for e in (*questions.pool, *questions.validation, *questions.test)}

    def examples(self, iteration: int, split: str) -> list[TaskExample]:
        """The questions of a split, in order."""
        questions = self.setup.questions
        if split == MINIBATCH:
            return questions.minibatch(iteration)
        return list(questions.test if split in (TEST, TEST_PLAIN) else questions.validation)

    def complete(self, iteration: int, split: str) -> bool:
        """Whether every answer is there."""
        return len(self.setup.answers.given(iteration, split)) == len(self.examples(iteration, split))

    # ------------------------------------------------------------ the server

    def serve(self, deltas: Deltas | None, file: Path | None = None) -> None:
        """Stop, generate the processor, start (spec Evolution 1, steps 1 to 3). `file`: the processor's, if it is
        not the current one."""
        setup = self.setup
        file = file or layout.processor(self.context.run_dir)
        self._tell("stopping")
        setup.server.stop()
        self.context.checkpoint()
        if deltas is not None:
            generate_processor(file, setup.clusters, deltas)
        self._tell("starting")
        try:
            processor = None if deltas is None else file
            setup.server.start(processor, self.context.checkpoint)
        except SteerError:
            self._tell("failed")
            raise
        self._tell("healthy")

    def _tell(self, state: str) -> None:
        server = self.setup.server
        self.context.emit(ServerChanged(state=state, server=server.name, log=server.log_tail()))

    # ------------------------------------------------------------ answers

    def ask(self, iteration: int, split: str) -> list[AnswerRecord]:
        """All answers of the split; those there are already are told again, not asked for again. If none of them could
        be judged, which ended the stage, they are judged again."""
        examples, kept = self.examples(iteration, split), self.setup.answers
        if self.complete(iteration, split):
            self._judge_again(kept.take_unjudged(iteration, split))
        given = kept.given(iteration, split)
        for example, record in zip(examples, given, strict=False):
            self._announce(example, record)
        for first in range(len(given), len(examples), kept.batch):
            self.context.checkpoint()
            batch = examples[first : first + kept.batch]
            asks = [ask(example, self.context.config, iteration) for example in batch]
            answers = self.setup.server.answer(asks, self.context.checkpoint)
            records = self._judge(iteration, split, batch, answers)
            kept.add(records)
            for example, record in zip(batch, records, strict=True):
                self._announce(example, record)
            self._progress(split, first + len(batch), len(examples), sum(len(a.tokens) for a in answers))
        return kept.given(iteration, split)

    def _judge_again(self, records: Sequence[AnswerRecord]) -> None:
        """Verdicts on kept answers; what the judge has cost before is still theirs."""
        for first in range(0, len(records), self.setup.answers.batch):
            self.context.checkpoint()
            part = records[first : first + self.setup.answers.batch]
            examples = [self._examples[record.example_id] for record in part]
            answers = [Answer(record.answer, record.token_ids) for record in part]
            judged = self._judge(part[0].iteration, part[0].split, examples, answers)
            self.setup.answers.add(
                [
                    msgspec.structs.replace(new, usage=old.usage + new.usage)
                    for old, new in zip(part, judged, strict=True)
                ]
            )

    def _judge(
        self, iteration: int, split: str, examples: Sequence[TaskExample], answers: Sequence[Answer]
    ) -> list[AnswerRecord]:
        """Side by side: a judge may be a server far away."""

        def one(pair: tuple[TaskExample, Answer]) -> AnswerRecord:
            example, answer = pair
            verdict = self.verdict(example, answer.text)
            failed = isinstance(verdict, Unjudged)
            return AnswerRecord(
                iteration=iteration,
                split=split,
                example_id=example.id,
                answer=answer.text,
                token_ids=answer.tokens,
                correct=None if failed else verdict.correct,
                reasoning=verdict.reason if failed else verdict.reasoning,
                usage=verdict.usage,
            )

        pairs = list(zip(examples, answers, strict=True))
        return list(map_side_by_side(one, pairs, len(pairs)))

    def verdict(self, example: TaskExample, text: str) -> Verdict | Unjudged:
        """What the judge says of an answer; why it failed, if it did as often as it may."""
        attempts = self.context.config.evolution.judge.attempts
        golds = example.meta["answers"]
        return judge_retrying(self.setup.judge, example.question, golds, text, attempts, lambda: None)

    def verdict_on_tokens(self, record: AnswerRecord, tokens: Sequence[int]) -> bool | None:
        """The same for the beginning of an answer."""
        text = self.setup.vocabulary.tokenizer.decode(list(tokens))
        verdict = self.verdict(self._examples[record.example_id], text)
        self.spent_on_caps += verdict.usage
        return None if isinstance(verdict, Unjudged) else verdict.correct

    def clusters_of(self, record: AnswerRecord) -> list[int]:
        """The cluster of each token."""
        ids = self.setup.clusters.ids
        return [int(ids[token]) for token in record.token_ids if token < len(ids)]

    # ------------------------------------------------------------ scores

    def score(self, iteration: int, split: str) -> Score:
        """Of the answers that are there. Raises DataError when none could be judged."""
        outcomes = [record.outcome for record in self.setup.answers.given(iteration, split)]
        return score(outcomes, self.context.config.evolution.SHORTNESS_SCALE)

    def scored(self, iteration: int, split: str, best: bool = False) -> Score:
        """The same, told; with a warning if the judge failed."""
        found = self.score(iteration, split)
        if found.judged < found.answers:
            left_out = found.answers - found.judged
            text = f"the judge failed on {left_out} of {found.answers} answers ({split} of iteration {iteration})"
            self.context.notice(f"{text}; they are left out", level="warning")
        self.context.emit(scored_event(iteration, split, found, best))
        return found

    def usage(self, iteration: int) -> Spent:
        """What judging this iteration cost."""
        splits = (MINIBATCH, VALIDATION) if iteration else (MINIBATCH, VALIDATION, BASELINE)
        return self.usage_of(*((iteration, split) for split in splits))

    def usage_of(self, *keys: tuple[int, str]) -> Spent:
        """What judging these splits of these iterations cost."""
        return sum((record.usage for key in keys for record in self.setup.answers.given(*key)), Spent())

    # ------------------------------------------------------------ telling

    def _announce(self, example: TaskExample, record: AnswerRecord) -> None:
        texts = self.setup.vocabulary.texts
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
                reasoning=record.reasoning,
                pieces=[texts[token] for token in record.token_ids if token < len(texts)],
                clusters=self.clusters_of(record),
            )
        )

    def _progress(self, split: str, done: int, total: int, tokens: int) -> None:
        iterations = self.context.config.evolution.iterations
        finished = len(self.setup.history.iterations)
        place = "" if split in (TEST, TEST_PLAIN) else f"iteration {finished}: "
        self.context.progress(finished, iterations, tokens, f"{place}{split} {done}/{total}")
