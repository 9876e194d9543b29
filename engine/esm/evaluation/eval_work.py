"""The work of stage `eval`: a batch of examples decoded with one method (spec ESM 6.1, 7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.config.config import Config
from engine.config.esm_methods import METHODS
from engine.esm.baselines.plain import BaselineInputs, encoded_prompt
from engine.esm.evaluation.answer_lines import AnswerLine, step_of
from engine.esm.evaluation.methods import make_variant, maker
from engine.esm.evaluation.sources import Sources
from engine.esm.online.control_point import Answer
from engine.esm.online.controller import Controller
from engine.esm.online.variants import Variant
from engine.events import ExampleEvaluated
from engine.lm.protocol import LanguageModel
from engine.scale.work import WorkContext
from engine.tasks.example import TaskExample
from engine.tasks.loaders import configured_task

_SHARED = set(ExampleEvaluated.__struct_fields__) & set(AnswerLine.__struct_fields__)
"""What an answer's line and its event call alike."""


@dataclass(frozen=True)
class Batch:
    """Examples decoded together with `method`; the first is number `first` of all."""

    method: str
    first: int
    examples: Sequence[TaskExample]


@dataclass(frozen=True)
class AnsweredBatch:
    """A line of `per_example.jsonl` for each example. `seconds` that it took where it was done."""

    method: str
    lines: list[AnswerLine]
    seconds: float


@dataclass(frozen=True)
class Answering:
    """Turns a batch into its answers with methods made from `sources`; reports each decision when it is taken, each
    answer when it has ended."""

    config: Config
    sources: Sources

    def open(self, context: WorkContext) -> Callable[[Batch], AnsweredBatch]:
        """Load the model. Raises ModelError."""
        return _Answerer(self, context).answer


class _Answerer:
    def __init__(self, work: Answering, context: WorkContext) -> None:
        self.config, self.sources = work.config, work.sources
        self.task = configured_task(work.config.task)
        self.model: LanguageModel = context.load_model(work.config.model)
        self.clock, self.emit = context.clock, context.emit
        self.variants: dict[str, Variant] = {}

    def answer(self, batch: Batch) -> AnsweredBatch:
        started = self.clock()
        examples = batch.examples
        lines: dict[int, AnswerLine] = {}

        def ended(position: int, answer: Answer) -> None:
            lines[position] = self._line(batch.first + position, examples[position], answer)
            self.emit(_evaluated(batch.method, lines[position]))

        method = METHODS[batch.method]
        if method.steers:
            prompts = [encoded_prompt(self.config, self.task, self.model, example) for example in examples]
            controller = Controller(self.model, self.config, self._variant(method.name), self.emit, ended)
            controller.run([example.id for example in examples], prompts)
        else:
            maker(method)(BaselineInputs(self.model, self.config, self.task, examples, ended))
        in_order = [lines[position] for position in range(len(examples))]
        return AnsweredBatch(batch.method, in_order, self.clock() - started)

    def _variant(self, method: str) -> Variant:
        if method not in self.variants:
            self.variants[method] = make_variant(method, self.model, self.config, self.sources)
        return self.variants[method]

    def _line(self, index: int, example: TaskExample, answer: Answer) -> AnswerLine:
        pred = self.task.extract(answer.text)
        return AnswerLine(
            index=index,
            example_id=example.id,
            question=example.question,
            text=answer.text,
            pred=pred,
            gold=example.answer,
            correct=self.task.is_correct(pred, example.answer),
            correct_strict=self.task.is_correct(self.task.extract_marked(answer.text), example.answer),
            tokens_used=len(answer.tokens),
            probe_tokens_used=answer.probe_tokens,
            budget_used=len(answer.tokens) + answer.probe_tokens,
            steered=answer.steered,
            steps=[step_of(decision) for decision in answer.decisions],
        )


def _evaluated(method: str, line: AnswerLine) -> ExampleEvaluated:
    return ExampleEvaluated(
        method=method,
        example=line.example_id,
        decisions=len(line.steps),
        **{name: getattr(line, name) for name in _SHARED},
    )
