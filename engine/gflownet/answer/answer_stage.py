"""The stage `answer`: held-out questions answered from sampled paths, and from the best-scored triples at the same
token budget (spec GFlowNet, comparison with SubgraphRAG; 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import msgspec

from engine.closest import paired_verdict
from engine.events import (
    EvidenceAnswered,
    EvidenceCompared,
    QuestionSampled,
    Verdict,
    logged_without_envelope,
    without_envelope,
)
from engine.files import csv_text, read_records, required, write_atomic
from engine.gflownet import layout
from engine.gflownet.agent_graphs.dataset import GAgentPyGDataset
from engine.gflownet.answer.answer_match import named
from engine.gflownet.answer.readers import OpenAIReader, Reading, make_reader
from engine.gflownet.evaluation.path_prompt import EvidencePrompt, build_triplet_prompt, path_triples
from engine.gflownet.evaluation.paths import top_triples
from engine.gflownet.graphs.dataset import GRetrievalDataset
from engine.gflownet.graphs.dropped import missed_questions
from engine.gflownet.graphs.store import RetrievalStore
from engine.gflownet.graphs.tables import Texts
from engine.gflownet.retriever.retriever_stage import read_scores
from engine.lm.embedding.sentence_embedder import SentenceEmbedder, load_embedder
from engine.run.keyed_records import KeyedRecords
from engine.run.stage import StageContext, StageResult
from engine.seeds import derive_seed
from engine.statistics import Interval, mcnemar, paired_bootstrap
from engine.torch_file import torch_threads
from engine.verdict_curve import running

METHODS = ("triples", "gflownet")
AT_ONCE = 16


class AnswerQuestions:
    """Answers each question by both methods; stored answers are not asked for again."""

    def run(self, context: StageContext) -> StageResult:
        with torch_threads(1), RetrievalStore(layout.retrieval_store(context.run_dir)) as store:
            return _AnswerJob(context, store).run()


class _AnswerJob:
    def __init__(self, context: StageContext, store: RetrievalStore) -> None:
        self.context = context
        self.section = context.config.answer
        run_dir = context.run_dir
        self.file = layout.answers(run_dir)
        self.answers = KeyedRecords(
            self.file,
            EvidenceAnswered,
            lambda answer: (answer.sample_id, answer.method),
            logged_without_envelope,
        )
        self.texts, self.retrieval = Texts.load(run_dir), GRetrievalDataset(store, "test")
        self.scores = read_scores(run_dir, "test")
        self.numbers = {store.record("test", i).sample_id: i for i in range(len(self.retrieval))}
        self.graphs = GAgentPyGDataset(layout.agent_graphs(run_dir, "test"))
        self.questions = _sampled(layout.sampled_paths(run_dir))[: self.section.questions]
        self.reader = make_reader(context, self._embedder)

    def _embedder(self) -> SentenceEmbedder:
        graphs = self.context.config.graphs
        return load_embedder(graphs.embedder, graphs.device, graphs.batch_size, "graphs")

    def run(self) -> StageResult:
        missing = [
            (number, method)
            for number, question in enumerate(self.questions)
            for method in METHODS
            if (question.sample_id, method) not in self.answers
        ]
        total = len(self.questions) * len(METHODS)
        self.context.start(total, len(self.answers), unit="answers")
        self.context.notice(f"answered by {self.reader.name}")
        for first in range(0, len(missing), AT_ONCE):
            self.context.checkpoint()
            self._answer(missing[first : first + AT_ONCE])
            self.context.progress(len(self.answers), total)
        return self._result()

    def _answer(self, batch: Sequence[tuple[int, str]]) -> None:
        """A server's answers are kept as they arrive, others together."""
        prompts = [self._prompt(number, method) for number, method in batch]

        def keep(place: int, text: str | Reading) -> None:
            number, method = batch[place]
            reading = Reading(text) if isinstance(text, str) else text
            answer = _judged(self.questions[number], method, prompts[place], reading)
            self.context.emit(answer)
            self.answers.add(answer)

        if isinstance(self.reader, OpenAIReader):
            self.reader.read_each(prompts, self.context.checkpoint, keep)
            return
        texts = self.reader.read(prompts, self.context.checkpoint)
        for place, text in list(zip(range(len(batch)), texts, strict=True)):  # a wrong count keeps none
            keep(place, text)

    def _prompt(self, number: int, method: str) -> EvidencePrompt:
        question = self.questions[number]
        if method == "gflownet":
            triples = path_triples(question.paths)
        else:
            place = self.numbers[question.sample_id]
            triples = top_triples(self.retrieval[place], self.scores[place], self.texts)
        return build_triplet_prompt(
            question.question, triples, self.section.token_budget, self.reader.count_tokens
        )

    def _result(self) -> StageResult:
        answers = sorted(self.answers.values(), key=lambda answer: answer.sample_id)
        by_method = {method: [answer for answer in answers if answer.method == method] for method in METHODS}
        rows = [self._row(method, of_method, by_method["triples"]) for method, of_method in by_method.items()]
        for row in rows:
            self.context.emit(row)
        table = layout.metrics(self.context.run_dir).with_name("answers.csv")
        write_atomic(table, csv_text([without_envelope(row) for row in rows]))
        summary: dict[str, float | int | str] = {f"hit_{row.method}": round(row.hit, 4) for row in rows}
        summary |= {f"hit_all_{row.method}": round(row.hit_all, 4) for row in rows if row.hit_all is not None}
        files = [str(path.relative_to(self.context.run_dir)) for path in (self.file, table)]
        openai = self.section.reader == "openai"
        counts, warnings = lacking(answers, "answer.openai.max_tokens" if openai else "answer.max_new_tokens")
        for text in warnings:
            self.context.notice(text, level="warning")
        summary |= counts
        sampled = by_method["gflownet"]
        verdict = answer_verdict(sampled, by_method["triples"], self._seed, self._beside_ends(sampled))
        return StageResult({"reader": self.reader.name, **summary}, files, verdict)

    def _beside_ends(self, answers: Sequence[EvidenceAnswered]) -> str:
        """A remark where the reader is shown to name fewer answers than the paths themselves lead to."""
        ends = {question.sample_id: end_is_answer(question) for question in self.questions}
        reached = [ends[answer.sample_id] for answer in answers]
        interval = paired_bootstrap([answer.hit for answer in answers], reached, self._seed)
        return reader_loses(sum(reached) / len(reached), interval)

    @property
    def _seed(self) -> int:
        return derive_seed(self.context.config.run.seed, "answer", "bootstrap")

    def _row(
        self, method: str, of_method: Sequence[EvidenceAnswered], baseline: Sequence[EvidenceAnswered]
    ) -> EvidenceCompared:
        missed = missed_questions(self.context.run_dir, "test")
        row = EvidenceCompared(
            method=method, reader=self.reader.name, n=len(of_method), hit=_mean(of_method, "hit"),
            recall=_mean(of_method, "recall"), missed=missed, triples=_mean(of_method, "triples"),
            prompt_tokens=_mean(of_method, "prompt_tokens"),
        )  # fmt: skip
        if of_method is baseline:
            return row
        hits, baseline_hits = ([answer.hit for answer in answers] for answers in (of_method, baseline))
        interval = paired_bootstrap(hits, baseline_hits, self._seed)
        answerable = len(self.graphs) / (len(self.graphs) + missed)
        of_all = {"hit_all": row.hit * answerable, "recall_all": row.recall * answerable}
        return msgspec.structs.replace(row, **of_all, **asdict(interval), p=mcnemar(hits, baseline_hits))


def answer_verdict(
    answers: Sequence[EvidenceAnswered], baseline: Sequence[EvidenceAnswered], seed: int, remark: str
) -> Verdict:
    """Hits of the sampled paths beside those of the best-scored triples; the answers of both are in one order."""
    hits, baseline_hits = ([answer.hit for answer in each] for each in (answers, baseline))
    tokens, baseline_tokens = (_mean(each, "prompt_tokens") for each in (answers, baseline))
    return paired_verdict(
        "gflownet", "triples", "answer_hit", hits, baseline_hits, seed, items="questions", tokens=tokens,
        baseline_tokens=baseline_tokens, curve=running(hits), remark=remark,
    )  # fmt: skip


def end_is_answer(question: QuestionSampled) -> bool:
    """Whether the entity at which the paths end most, by draws or by probability, is an answer, as in `hits@1`: what
    the paths say without a reader."""
    ends: dict[str, float] = {}
    for path in question.paths:
        if path.steps:
            end = path.steps[-1].tail
            ends[end] = ends.get(end, 0.0) + (path.probability if question.distinct else path.count)
    return bool(ends) and max(ends, key=ends.__getitem__) in question.answers


def reader_loses(reached: float, interval: Interval) -> str:
    """What to say of a reader that is shown to be right less often than the entity at which its paths end most."""
    if interval.high >= 0:
        return ""
    return (
        f"Without a reader, the entity at which most paths end answers {reached:.1%} right: the reader loses "
        f"{-100 * interval.difference:.0f} points. Another model or message (answer.system) may read them better."
    )


def _mean(answers: Sequence[EvidenceAnswered], name: str) -> float:
    return sum(float(getattr(answer, name)) for answer in answers) / len(answers)


def _sampled(path: Path) -> list[QuestionSampled]:
    """The held-out questions with their paths, in the order of the agent graphs."""
    hint = "remove it and run the stage gflownet again: it samples the same paths"
    return read_records(required(path, "gflownet"), QuestionSampled, hint)


def lacking(answers: Sequence[EvidenceAnswered], limit: str) -> tuple[dict[str, int], list[str]]:
    """How many answers are missing and how many are cut, where some are, and a warning of each kind. `limit`: the
    setting that cuts them."""
    failed = [answer for answer in answers if answer.failure]
    cut = [answer for answer in answers if answer.cut]
    warnings: list[str] = []
    if failed:
        first = f"{failed[0].sample_id}: {failed[0].failure}"
        warnings.append(
            f"{len(failed)} of {len(answers)} answers are missing and count as misses; the first is {first}"
        )
    if cut:
        warnings.append(
            f"{len(cut)} of {len(answers)} answers were cut at the limit of tokens: raise {limit}"
        )
    counts = {"unanswered": len(failed), "cut": len(cut)}
    return {name: count for name, count in counts.items() if count}, warnings


def _judged(
    question: QuestionSampled, method: str, prompt: EvidencePrompt, reading: Reading
) -> EvidenceAnswered:
    """Hit and recall by name, as the field's benchmarks count them: of all gold answers, in the graph or not, those
    whose normal form stands in the text."""
    golds = question.golds
    met = named(golds, reading.text)
    return EvidenceAnswered(
        sample_id=question.sample_id, method=method, question=question.question, golds=golds, answer=reading.text,
        hit=bool(met), recall=len(met) / max(1, len(golds)), triples=len(prompt.triples),
        prompt_tokens=prompt.tokens, prompt=prompt.text, cut=reading.cut, failure=reading.failure,
    )  # fmt: skip
