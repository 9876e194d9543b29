"""Stage eval: greedy, esm and its ablations on the same held-out examples (spec ESM 6.1, 7)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.config import Config
from engine.esm.compare import compared
from engine.esm.controller import Answer, Controller
from engine.esm.examples import evaluation_examples, training_examples
from engine.esm.layout import EsmLayout
from engine.esm.memory import EpisodicMemory
from engine.esm.report import write_report
from engine.esm.variants import make_variant
from engine.events import DecisionTaken, ExampleEvaluated, MethodEvaluated
from engine.files import append_jsonl, recover_jsonl, write_jsonl
from engine.lm.protocol import LanguageModel, Request, Sampling
from engine.seeds import derive_seed
from engine.stage import StageContext, StageResult
from engine.tasks.example import TaskExample
from engine.tasks.loaders import check_disjoint
from engine.tasks.task import Task, get_task

Line = dict[str, Any]


class Evaluate:
    """Methods one after another, batch by batch; a batch is finished when its lines are in per_example.jsonl."""

    name = "eval"

    def run(self, context: StageContext) -> StageResult:
        """Greedy comes first: the others are compared with it."""
        job = _Job.prepare(context)
        names = method_names(context.config)
        done = {name: job.recover(name) for name in names}
        total = len(names) * len(job.examples)
        context.start(total, sum(map(len, done.values())), unit="examples")
        for name in names:
            job.evaluate(name, done[name])
        summary, files = write_report(job.layout, context.config, {name: job.lines[name] for name in names})
        return StageResult(summary, files)


def method_names(config: Config) -> list[str]:
    """Greedy first, then esm, then the ablations."""
    methods = [name for name in ("greedy", "esm") if name in config.eval.methods]
    return [*methods, *dict.fromkeys(config.eval.ablations)]


@dataclass
class _Job:
    context: StageContext
    config: Config
    layout: EsmLayout
    task: Task
    model: LanguageModel
    examples: list[TaskExample]
    memory: EpisodicMemory | None
    lines: dict[str, list[Line]] = field(default_factory=dict)

    @classmethod
    def prepare(cls, context: StageContext) -> _Job:
        config, layout = context.config, EsmLayout(context.run_dir)
        examples = evaluation_examples(config)
        check_disjoint(training_examples(config), examples)
        model = context.model()
        needs_memory = set(method_names(config)) - {"greedy", "no_memory"}
        memory = EpisodicMemory.load(layout.memory, layout.library, model.info) if needs_memory else None
        return cls(context, config, layout, get_task(config.task.dataset), model, examples, memory)

    def path(self, method: str) -> Path:
        return self.layout.eval(method) / "per_example.jsonl"

    def batch_size(self, method: str) -> int:
        online, plain = self.config.online.batch_size_examples, self.config.eval.batch_size_greedy
        return plain if method == "greedy" else online

    def recover(self, method: str) -> list[Line]:
        """Whole batches of an earlier attempt."""
        count = len(recover_jsonl(self.path(method)))
        size = self.batch_size(method)
        keep = count if count >= len(self.examples) else count // size * size
        return recover_jsonl(self.path(method), keep=keep)

    def evaluate(self, method: str, done: list[Line]) -> None:
        self.lines[method] = done
        size, seconds, tokens = self.batch_size(method), 0.0, 0
        for first in range(len(done), len(self.examples), size):
            self.context.checkpoint()
            batch = self.examples[first : first + size]
            began = time.monotonic()
            lines, decisions = self._decode(method, batch, first)
            seconds += time.monotonic() - began
            spent = sum(line["budget_used"] for line in lines)
            tokens += spent
            append_jsonl(self.path(method), lines)
            self.lines[method].extend(lines)
            self._announce(method, lines, decisions)
            overall = sum(map(len, self.lines.values()))
            total = len(method_names(self.config)) * len(self.examples)
            self.context.progress(overall, total, spent, note=method)
            self._figures(method, tokens / max(seconds, 1e-9), final=False)
        self._figures(method, tokens / max(seconds, 1e-9), final=True)
        lines = self.lines[method]
        accuracy = sum(line["correct"] for line in lines) / len(lines)
        record = {"n": len(lines), "acc": accuracy, "T_max": self.config.decode.max_new_tokens}
        write_jsonl(self.layout.eval(method) / "summary.jsonl", [{"method": method, **record}])

    def _decode(
        self, method: str, batch: Sequence[TaskExample], first: int
    ) -> tuple[list[Line], list[list[DecisionTaken]]]:
        prompts = [self._prompt(example) for example in batch]
        if method == "greedy":
            answers = self._greedy(batch, prompts)
        else:
            memory = self.memory or EpisodicMemory.of([], _no_keys(self.model.info.hidden_size))
            variant = make_variant(method, memory, self.config.online, self.config.run.seed)
            answers = Controller(self.model, self.config, variant).run([e.id for e in batch], prompts)
        lines = [
            self._line(first + position, example, answer)
            for position, (example, answer) in enumerate(zip(batch, answers, strict=True))
        ]
        return lines, [answer.decisions for answer in answers]

    def _prompt(self, example: TaskExample) -> list[int]:
        prompt = self.config.prompt
        return self.model.tokenizer.encode_chat(self.task.prompt(example, prompt.template), prompt.system)

    def _greedy(self, batch: Sequence[TaskExample], prompts: Sequence[Sequence[int]]) -> list[Answer]:
        """The baseline: one uninterrupted continuation (spec ESM 6.1)."""
        sampling = Sampling(self.config.decode.max_new_tokens, self.config.decode.temperature)
        requests = [
            Request(prompt, sampling, seed=derive_seed(self.config.run.seed, "greedy", example.id))
            for example, prompt in zip(batch, prompts, strict=True)
        ]
        done = self.model.generate(requests, checkpoint=self.context.checkpoint)
        return [
            Answer(example.id, tokens=completion.tokens, text=completion.text, ended=True)
            for example, completion in zip(batch, done, strict=True)
        ]

    def _line(self, index: int, example: TaskExample, answer: Answer) -> Line:
        pred = self.task.extract(answer.text)
        return {
            "index": index,
            "example_id": example.id,
            "question": example.question,
            "text": answer.text,
            "pred": pred,
            "gold": example.answer,
            "correct": self.task.is_correct(pred, example.answer),
            "tokens_used": len(answer.tokens),
            "probe_tokens_used": answer.probe_tokens,
            "budget_used": len(answer.tokens) + answer.probe_tokens,
            "steered": answer.steered,
            "steps": [_step(decision) for decision in answer.decisions],
        }

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

    def _figures(self, method: str, tokens_per_second: float, final: bool) -> None:
        lines = self.lines[method]
        baseline = self.lines.get("greedy", []) if method != "greedy" else []
        comparison = compared(lines, baseline[: len(lines)], self.config) if baseline else None
        self.context.emit(
            MethodEvaluated(
                method=method,
                n=len(lines),
                accuracy=sum(line["correct"] for line in lines) / len(lines),
                mean_tokens=sum(line["tokens_used"] for line in lines) / len(lines),
                mean_probe_tokens=sum(line["probe_tokens_used"] for line in lines) / len(lines),
                tokens_per_second=tokens_per_second,
                difference=comparison.difference if comparison else None,
                low=comparison.low if comparison else None,
                high=comparison.high if comparison else None,
                p=comparison.p if comparison else None,
                fixed=comparison.fixed if comparison else 0,
                broken=comparison.broken if comparison else 0,
                final=final,
            )
        )


def _no_keys(hidden_size: int) -> Any:
    import numpy as np

    return np.zeros((0, hidden_size), dtype=np.float32)


def _step(decision: DecisionTaken) -> Line:
    """A decision as per_example.jsonl keeps it: the figures, without the texts that the log has."""
    return {
        "m": decision.m,
        "phase": decision.phase,
        "gate": decision.gate,
        "memory_size": decision.memory_size,
        "top_similarity": decision.top_similarity,
        "best_ahat": decision.best_ahat,
        "null_ahat": decision.null_ahat,
        "chosen": decision.chosen,
        "layer": decision.layer,
        "delta_logprob": decision.delta_logprob,
        "score": decision.score,
        "null_score": decision.null_score,
        "alpha": decision.alpha,
        "committed_tokens": decision.committed_tokens,
        "probe_tokens": decision.probe_tokens,
    }
