"""Stage eval: greedy, esm and its ablations on the same held-out examples (spec ESM 6.1, 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.config.config import Config
from engine.esm import layout
from engine.esm.compare import compared
from engine.esm.eval_work import Answered, Answering, Batch, Line
from engine.esm.examples import evaluation_examples, training_examples
from engine.esm.field import PROMPTED, WITHOUT_MEMORY, field_methods
from engine.esm.lines import read_answered
from engine.esm.memory import EpisodicMemory
from engine.esm.plain import PLAIN_METHODS
from engine.esm.report import write_report
from engine.esm.side_effects import BATCH, SideEffects
from engine.esm.static import NO_SOURCES, StaticSources, static_methods
from engine.esm.unrelated import UNRELATED
from engine.events import DecisionTaken, ExampleEvaluated, MethodEvaluated
from engine.files import append_jsonl, recover_batches, write_jsonl
from engine.run.stage import StageContext, StageResult
from engine.tasks.example import TaskExample
from engine.tasks.loaders import check_disjoint

_FIGURES_AGAIN = 1.02
"""Growth after which running figures are logged again: together they cost no more than a pass over the lines."""


class Evaluate:
    """Methods one after another, batch by batch; a batch is finished when its lines are in per_example.jsonl."""

    name = "eval"

    def run(self, context: StageContext) -> StageResult:
        """Greedy comes first: the others are compared with it."""
        job = _Job.prepare(context)
        answered = context.prepare(Answering(context.config, job.memory, job.sources))
        context.start(job.total, job.recover(), unit="examples")
        for name in job.names:
            job.end_if_whole(name)
        for batch in answered(job.batches()):
            job.take_in(batch)
        side_effects = job.side_effects()
        return write_report(context.run_dir, context.config, job.lines, side_effects)


def method_names(config: Config) -> list[str]:
    """Greedy first, then the vote, esm, the ablations, vectors from elsewhere, and the field's baselines."""
    methods = [name for name in (*PLAIN_METHODS, "esm") if name in config.eval.methods]
    return [*methods, *dict.fromkeys(config.eval.ablations), *static_methods(config), *field_methods(config)]


@dataclass
class _Job:
    """`lines`: what is done, by method. `seconds` of work, `tokens`: of this attempt, by method.
    `figured`: examples that the last running figures rest on."""

    context: StageContext
    config: Config
    names: list[str]
    examples: list[TaskExample]
    memory: EpisodicMemory | None
    sources: StaticSources
    lines: dict[str, list[Line]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    figured: dict[str, int] = field(default_factory=dict)

    @classmethod
    def prepare(cls, context: StageContext) -> _Job:
        config, run_dir = context.config, context.run_dir
        examples = evaluation_examples(config)
        check_disjoint(training_examples(config), examples)
        names = method_names(config)
        memory = None
        static = static_methods(config)
        others = static or field_methods(config)
        sources = StaticSources.read(config, context.model_info(), run_dir) if others else NO_SOURCES
        if set(names) - {*PLAIN_METHODS, "no_memory", *static, *WITHOUT_MEMORY}:
            memory = EpisodicMemory.load(
                layout.memory(run_dir), layout.library(run_dir), context.model_info()
            )
        return cls(context, config, names, examples, memory, sources)

    @property
    def total(self) -> int:
        return len(self.names) * len(self.examples)

    def path(self, method: str) -> Path:
        return layout.evaluation(self.context.run_dir, method) / "per_example.jsonl"

    def batch_size(self, method: str) -> int:
        online, plain = self.config.online.batch_size_examples, self.config.eval.batch_size_greedy
        return plain if method in (*PLAIN_METHODS, PROMPTED) else online

    def recover(self) -> int:
        """Whole batches of an earlier attempt; how many examples they hold."""
        for method in self.names:
            size = self.batch_size(method)
            lines = recover_batches(self.path(method), size, len(self.examples))
            self.lines[method] = read_answered(lines, self.path(method), self.examples)
        return sum(map(len, self.lines.values()))

    def batches(self) -> Iterator[Batch]:
        """What is left, cut at the same places as ever."""
        left = {method: len(lines) for method, lines in self.lines.items()}
        for method in self.names:
            size = self.batch_size(method)
            for first in range(left[method], len(self.examples), size):
                yield Batch(method, first, self.examples[first : first + size])

    def take_in(self, batch: Answered) -> None:
        """Write and tell."""
        method = batch.method
        spent = sum(line["budget_used"] for line in batch.lines)
        self.seconds[method] = self.seconds.get(method, 0.0) + batch.seconds
        self.tokens[method] = self.tokens.get(method, 0) + spent
        append_jsonl(self.path(method), batch.lines)
        self.lines[method].extend(batch.lines)
        self._announce(method, batch.lines, batch.decisions)
        self.context.progress(sum(map(len, self.lines.values())), self.total, spent, note=method)
        if len(self.lines[method]) >= _FIGURES_AGAIN * self.figured.get(method, 0):
            self._figures(method, final=False)
        self.end_if_whole(method)

    def side_effects(self) -> list[Line]:
        """What esm changes in answers to unrelated questions, if that is asked for: a line a question."""
        count = self.config.eval.side_effects
        if not count or self.memory is None or "esm" not in self.names:
            return []
        if self.config.online.carry_steering or self.config.model.backend == "vllm":
            text = "side effects are not measured with online.carry_steering, nor on vLLM"
            self.context.notice(text, level="warning")
            return []
        path = layout.evaluation(self.context.run_dir, "esm") / "side_effects.jsonl"
        questions = UNRELATED[:count]
        lines = recover_batches(path, BATCH, count)
        measured = self.context.prepare(SideEffects(self.config, self.memory))
        left = [questions[first : first + BATCH] for first in range(len(lines), count, BATCH)]
        for batch in measured(iter(left)):
            append_jsonl(path, batch)
            lines.extend(batch)
        return lines

    def end_if_whole(self, method: str) -> None:
        """Once all examples are through: the method's last figures."""
        lines = self.lines[method]
        if len(lines) < len(self.examples):
            return
        self._figures(method, final=True)
        accuracy = sum(line["correct"] for line in lines) / len(lines)
        record = {"n": len(lines), "acc": accuracy, "T_max": self.config.decode.max_new_tokens}
        write_jsonl(
            layout.evaluation(self.context.run_dir, method) / "summary.jsonl", [{"method": method, **record}]
        )

    def _announce(self, method: str, lines: Sequence[Line], decisions: Sequence[list[DecisionTaken]]) -> None:
        for line, taken in zip(lines, decisions, strict=True):
            for decision in taken:
                self.context.emit(decision)
            self.context.emit(
                ExampleEvaluated(
                    method=method,
                    index=line["index"],
                    example=line["example_id"],
                    question=line["question"],
                    gold=line["gold"],
                    pred=line["pred"],
                    correct=line["correct"],
                    tokens_used=line["tokens_used"],
                    probe_tokens_used=line["probe_tokens_used"],
                    budget_used=line["budget_used"],
                    decisions=len(taken),
                    steered=line["steered"],
                    text=line["text"],
                )
            )

    def _figures(self, method: str, final: bool) -> None:
        lines = self.lines[method]
        self.figured[method] = len(lines)
        speed = self.tokens.get(method, 0) / max(self.seconds.get(method, 0.0), 1e-9)
        baseline = self.lines.get("greedy", []) if method != "greedy" else []
        comparison = compared(lines, baseline[: len(lines)], self.config) if baseline else None
        self.context.emit(
            MethodEvaluated(
                method=method,
                n=len(lines),
                accuracy=sum(line["correct"] for line in lines) / len(lines),
                mean_tokens=sum(line["tokens_used"] for line in lines) / len(lines),
                mean_probe_tokens=sum(line["probe_tokens_used"] for line in lines) / len(lines),
                tokens_per_second=speed,
                difference=comparison.difference if comparison else None,
                low=comparison.low if comparison else None,
                high=comparison.high if comparison else None,
                p=comparison.p if comparison else None,
                fixed=comparison.fixed if comparison else 0,
                broken=comparison.broken if comparison else 0,
                final=final,
            )
        )
