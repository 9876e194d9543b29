"""The work of stage `eval`: a batch of examples decoded with one method (spec ESM 6.1, 7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.config.config import Config
from engine.esm.control_point import Answer
from engine.esm.controller import Controller
from engine.esm.field import PROMPTED, prompt_behind
from engine.esm.memory import EpisodicMemory
from engine.esm.plain import greedy, majority_vote
from engine.esm.static import NO_SOURCES, StaticSources, method_variant
from engine.esm.variants import Variant
from engine.events import DecisionTaken
from engine.lm.protocol import LanguageModel
from engine.scale.work import WorkContext
from engine.tasks.example import TaskExample
from engine.tasks.loaders import configured_task
from engine.tasks.task import Task

Line = dict[str, Any]


@dataclass(frozen=True)
class Batch:
    """Examples decoded together with `method`; the first is number `first` of all."""

    method: str
    first: int
    examples: Sequence[TaskExample]


@dataclass(frozen=True)
class Answered:
    """A line of `per_example.jsonl` for each example, and its decisions. `seconds` that it took where it was done."""

    method: str
    lines: list[Line]
    decisions: list[list[DecisionTaken]]
    seconds: float


@dataclass(frozen=True)
class Answering:
    """Turns a batch into its answers. `memory` is None where no method needs one; `sources`: of the static methods."""

    config: Config
    memory: EpisodicMemory | None
    sources: StaticSources = NO_SOURCES

    def open(self, context: WorkContext) -> Callable[[Batch], Answered]:
        """Load the model. Raises ModelError."""
        return _Answerer(self, context).answer

    def size(self, item: Batch) -> int:
        return len(item.examples)


class _Answerer:
    def __init__(self, work: Answering, context: WorkContext) -> None:
        self.config, self.sources = work.config, work.sources
        self.task = configured_task(work.config.task)
        self.model: LanguageModel = context.load_model(work.config.model)
        self.checkpoint, self.clock = context.checkpoint, context.clock
        nothing = np.zeros((0, self.model.info.hidden_size), dtype=np.float32)
        self.memory = work.memory or EpisodicMemory.of([], nothing)
        self.variants: dict[str, Variant] = {}

    def answer(self, batch: Batch) -> Answered:
        started = self.clock()
        examples = batch.examples
        if batch.method == PROMPTED:
            section = self.config.eval.field
            examples = [replace(e, question=prompt_behind(section, e.question)) for e in examples]
        prompts = [encoded_prompt(self.config, self.task, self.model, example) for example in examples]
        if batch.method in ("greedy", PROMPTED):
            answers = greedy(self.model, self.config, batch.examples, prompts, self.checkpoint)
        elif batch.method == "majority_vote":
            answers = majority_vote(
                self.model, self.config, self.task, batch.examples, prompts, self.checkpoint
            )
        else:
            controller = Controller(self.model, self.config, self._variant(batch.method))
            answers = controller.run([example.id for example in batch.examples], prompts)
        lines = [
            self._line(batch.first + position, example, answer)
            for position, (example, answer) in enumerate(zip(batch.examples, answers, strict=True))
        ]
        decisions = [answer.decisions for answer in answers]
        return Answered(batch.method, lines, decisions, self.clock() - started)

    def _variant(self, method: str) -> Variant:
        if method not in self.variants:
            self.variants[method] = method_variant(method, self.model, self.config, self.memory, self.sources)
        return self.variants[method]

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
            "correct_strict": self.task.is_correct(self.task.extract_marked(answer.text), example.answer),
            "tokens_used": len(answer.tokens),
            "probe_tokens_used": answer.probe_tokens,
            "budget_used": len(answer.tokens) + answer.probe_tokens,
            "steered": answer.steered,
            "steps": [_step(decision) for decision in answer.decisions],
        }


def encoded_prompt(config: Config, task: Task, model: LanguageModel, example: TaskExample) -> list[int]:
    """Token ids of the question as the run asks it."""
    prompt = config.prompt
    return model.tokenizer.encode_chat(task.prompt(example, prompt.template), prompt.system)


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
