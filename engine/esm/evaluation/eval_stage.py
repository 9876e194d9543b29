"""Stage eval: greedy, esm and its ablations on the same held-out examples (spec ESM 6.1, 7)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from engine.config.esm_methods import METHODS, evaluated_methods
from engine.esm import layout
from engine.esm.evaluation.answer_lines import AnswerLine, append_answers, recover_answers
from engine.esm.evaluation.compare import compared
from engine.esm.evaluation.eval_work import AnsweredBatch, Answering, Batch
from engine.esm.evaluation.methods import read_sources
from engine.esm.evaluation.report import write_report
from engine.esm.examples import evaluation_examples, training_examples
from engine.events import MethodEvaluated
from engine.files import write_jsonl
from engine.run.stage import StageContext, StageResult
from engine.tasks.loaders import check_disjoint

_FIGURES_AGAIN = 1.02
"""Growth of the examples after which running figures are logged again: about 50 passes over the lines in all."""


class Evaluate:
    """Methods one after another, batch by batch; a batch is finished when its lines are in per_example.jsonl."""

    def run(self, context: StageContext) -> StageResult:
        """Greedy comes first: the others are compared with it."""
        job = _Job(context)
        answered = context.prepare(Answering(context.config, job.sources))
        context.start(job.total, job.recover(), unit="answers")
        for name in job.names:
            job.end_if_whole(name)
        for batch in answered(job.batches()):
            job.record_batch(batch)
        names = job.sources.memory.names if job.sources.memory else {}
        return write_report(context.run_dir, context.config, job.lines, names)


class _Job:
    """`lines`: what is done, by method. `seconds` of work, `tokens`: of this attempt, by method.
    `figured`: examples that the last running figures rest on."""

    def __init__(self, context: StageContext) -> None:
        self.context, self.config = context, context.config
        self.examples = evaluation_examples(self.config)
        check_disjoint(training_examples(self.config), self.examples)
        methods = evaluated_methods(self.config)
        self.sources = read_sources(methods, self.config, context.model_info, context.run_dir)
        self.names = [method.name for method in methods]
        self.lines: dict[str, list[AnswerLine]] = {}
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.tokens: Counter[str] = Counter()
        self.figured: Counter[str] = Counter()

    @property
    def total(self) -> int:
        return len(self.names) * len(self.examples)

    def path(self, method: str) -> Path:
        return layout.evaluation(self.context.run_dir, method) / "per_example.jsonl"

    def batch_size(self, method: str) -> int:
        online, plain = self.config.online.batch_size_examples, self.config.eval.batch_size_greedy
        return online if METHODS[method].steers else plain

    def recover(self) -> int:
        """Whole batches of an earlier attempt; how many examples they hold."""
        for method in self.names:
            self.lines[method] = recover_answers(self.path(method), self.batch_size(method), self.examples)
        return sum(map(len, self.lines.values()))

    def batches(self) -> Iterator[Batch]:
        """The batches that are left, with the bounds that they have in a run without interruption."""
        left = {method: len(lines) for method, lines in self.lines.items()}
        for method in self.names:
            size = self.batch_size(method)
            for first in range(left[method], len(self.examples), size):
                yield Batch(method, first, self.examples[first : first + size])

    def record_batch(self, batch: AnsweredBatch) -> None:
        """Write a batch, whose decisions and answers are in the log already, and report how far the method is."""
        method = batch.method
        spent = sum(line.budget_used for line in batch.lines)
        self.seconds[method] += batch.seconds
        self.tokens[method] += spent
        append_answers(self.path(method), batch.lines)
        self.lines[method].extend(batch.lines)
        self.context.progress(sum(map(len, self.lines.values())), self.total, spent, note=method)
        if len(self.lines[method]) >= _FIGURES_AGAIN * self.figured[method]:
            self._figures(method, final=False)
        self.end_if_whole(method)

    def end_if_whole(self, method: str) -> None:
        """Once all examples are through: the method's last figures."""
        lines = self.lines[method]
        if len(lines) < len(self.examples):
            return
        self._figures(method, final=True)
        accuracy = sum(line.correct for line in lines) / len(lines)
        record = {"n": len(lines), "acc": accuracy, "T_max": self.config.decode.max_new_tokens}
        write_jsonl(
            layout.evaluation(self.context.run_dir, method) / "summary.jsonl", [{"method": method, **record}]
        )

    def _figures(self, method: str, final: bool) -> None:
        lines = self.lines[method]
        self.figured[method] = len(lines)
        speed = self.tokens[method] / max(self.seconds[method], 1e-9)
        baseline = self.lines.get("greedy", []) if method != "greedy" else []
        comparison = compared(lines, baseline[: len(lines)], self.config) if baseline else None
        self.context.emit(
            MethodEvaluated(
                method=method,
                n=len(lines),
                accuracy=sum(line.correct for line in lines) / len(lines),
                mean_tokens=sum(line.tokens_used for line in lines) / len(lines),
                mean_probe_tokens=sum(line.probe_tokens_used for line in lines) / len(lines),
                tokens_per_second=speed,
                final=final,
                **(asdict(comparison) if comparison else {}),
            )
        )
