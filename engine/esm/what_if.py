"""What if: an evaluated answer decoded again with another choice at one control point.

Seeds belong to examples and control points, so nothing else moves: whatever is different in the new answer comes from
the choice. The unchanged answer is decoded beside it; only if that repeats the record token by token is the comparison
one with the record, and the event says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from engine.config.esm_methods import METHODS
from engine.config.section import NonNegativeInt, PositiveInt, Section
from engine.errors import DataError
from engine.esm import layout
from engine.esm.baselines.plain import encoded_prompt
from engine.esm.evaluation.answer_lines import AnswerLine, Step, read_answers
from engine.esm.evaluation.methods import make_variant, read_sources
from engine.esm.evaluation.sources import Sources
from engine.esm.examples import evaluation_examples
from engine.esm.library.memory import Entry, EpisodicMemory
from engine.esm.online.control_point import Answer
from engine.esm.online.controller import Controller
from engine.esm.online.forced import Forced
from engine.esm.online.variants import Variant
from engine.events import DecisionTaken, TriedAnswer, WhatIfTried
from engine.files import required
from engine.lm.protocol import Steer, Vector
from engine.run.stage import StageContext
from engine.tasks.loaders import configured_task

MOST_STRENGTHS = 64
SAME_STRENGTH = 1e-3
"""Strengths that differ by less, relatively, are the same choice: sums of floats differ by machine."""


class WhatIfRequest(Section):
    """The choice to try at control point `m`. `entries`: names or ids in the memory, none for null; `layer` None: their
    own; `alphas`: one answer each; `onward`: at all later control points, too."""

    method: str = "esm"
    example: str
    m: PositiveInt
    entries: Annotated[list[str], Field(max_length=16)] = []
    layer: NonNegativeInt | None = None
    alphas: Annotated[
        list[Annotated[float, Field(ge=-1000, le=1000)]], Field(min_length=1, max_length=MOST_STRENGTHS)
    ] = [1.0]
    onward: bool = False


class WhatIf:
    """The evaluated answers of a run, ready to be decoded again. Raises DataError where nothing was
    evaluated, or with another model than this one."""

    form: ClassVar[type[Section]] = WhatIfRequest
    stage: ClassVar[str] = "eval"

    def __init__(self, context: StageContext) -> None:
        config, run_dir = context.config, context.run_dir
        self.config, self.model, self._run_dir = config, context.model(), run_dir
        self.task = configured_task(config.task)
        self.memory = EpisodicMemory.load(layout.memory(run_dir), layout.library(run_dir), self.model.info)
        self.entries = {entry.name: entry for entry in self.memory.entries}
        self.entries |= {entry.tool_name: entry for entry in self.memory.entries}
        self.examples = {example.id: example for example in evaluation_examples(config)}
        self._lines: dict[str, dict[str, AnswerLine]] = {}
        self._variants: dict[str, Variant] = {}

    def tried(self, other: WhatIfRequest) -> WhatIfTried:
        """The answers: as committed, with null at `other.m`, and with the other choice at each strength. Raises
        DataError for what the run does not have."""
        line, entries = self._recorded(other), self._entries(other)
        layer = self._layer(other, entries) if entries else None
        forced = [Forced(other.m, onward=other.onward)]
        if layer is not None:
            # several entries are added up, each at the same strength
            total = np.stack([vector for _, vector in entries]).sum(axis=0, dtype=np.float32)
            name = " + ".join(entry.tool_name for entry, _ in entries)
            forced += [Forced(other.m, Steer(total, layer, a), name, other.onward) for a in other.alphas]
        example = self.examples[other.example]
        prompt = encoded_prompt(self.config, self.task, self.model, example)
        rows = 1 + len(forced)
        answers = Controller(self.model, self.config, self._variant(other.method)).run(
            [example.id] * rows, [prompt] * rows, dict(enumerate(forced, 1))
        )
        committed, null, *yours = [self._tried(answer, other.m, example.answer) for answer in answers]
        difference = difference_to(line, answers[0], self.memory.names)
        return WhatIfTried(
            method=other.method,
            example=example.id,
            m=other.m,
            question=example.question,
            gold=example.answer,
            entries=[entry.tool_name for entry, _ in entries],
            names=[entry.name for entry, _ in entries],
            layer=layer,
            onward=other.onward,
            committed=committed,
            null=null,
            yours=yours or [null],
            exact=not difference,
            difference=difference,
        )

    def _recorded(self, other: WhatIfRequest) -> AnswerLine:
        """The evaluated answer's line; raises DataError if there is none, or none with this control point."""
        line = self._of_method(other.method).get(other.example)
        if line is None or other.example not in self.examples:
            raise DataError(
                what=f"{other.method} has no answer to {other.example!r}",
                where=str(layout.evaluation(self._run_dir, other.method)),
                hint="choose an example that this run evaluated",
            )
        points = sum(step.phase == "segment" for step in line.steps)
        if not 1 <= other.m <= points:
            raise DataError(
                what=f"the answer has no control point {other.m}",
                where=f"{other.method}, {other.example}",
                hint=f"choose one of 1 to {points}; what follows the last one is never steered",
            )
        return line

    def _of_method(self, method: str) -> dict[str, AnswerLine]:
        if method in METHODS and not METHODS[method].steers:
            raise DataError(
                what=f"{method} takes no decisions",
                hint="try another choice in an answer of esm or of one of its ablations; null is what greedy does",
            )
        if method not in self._lines:
            path = required(layout.evaluation(self._run_dir, method) / "per_example.jsonl", "eval")
            self._lines[method] = {line.example_id: line for line in read_answers(path)}
        return self._lines[method]

    def _variant(self, method: str) -> Variant:
        if method not in self._variants:
            sources = Sources(self.memory)
            if METHODS[method].needs != "memory":
                sources = read_sources([METHODS[method]], self.config, lambda: self.model.info, self._run_dir)
            self._variants[method] = make_variant(method, self.model, self.config, sources)
        return self._variants[method]

    def _entries(self, other: WhatIfRequest) -> list[tuple[Entry, Vector]]:
        entries: list[tuple[Entry, Vector]] = []
        for name in other.entries:
            entry = self.entries.get(name)
            if entry is None or entry.vector is None:
                raise DataError(
                    what=f"the memory has no entry {name!r}"
                    if entry is None
                    else f"{name} speaks for null: it has no vector",
                    where=str(layout.memory(self._run_dir)),
                    hint="choose a wrong entry of the library",
                )
            entries.append((entry, entry.vector))
        return entries

    def _layer(self, other: WhatIfRequest, entries: Sequence[tuple[Entry, Vector]]) -> int:
        """Where it is injected; one layer for all entries."""
        layers = {entry.layer for entry, _ in entries} if other.layer is None else {other.layer}
        if len(layers) > 1:
            raise DataError(
                what=f"the entries are of several layers ({', '.join(map(str, sorted(layers)))})",
                hint="choose entries of one layer, or name the layer",
            )
        layer = layers.pop()
        if not 0 <= layer < self.model.info.num_layers:
            raise DataError(
                what=f"the model has no layer {layer}",
                hint=f"choose one of 0 to {self.model.info.num_layers - 1}",
            )
        return layer

    def _tried(self, answer: Answer, m: int, gold: str) -> TriedAnswer:
        pred = self.task.extract(answer.text)
        at = next((decision for decision in answer.decisions if decision.m == m), None)
        return TriedAnswer(
            alpha=at.alpha if at else 0.0,
            chosen=[decision.chosen for decision in answer.decisions if decision.phase == "segment"],
            segment=at.segment if at else "",
            text=answer.text,
            pred=pred,
            correct=self.task.is_correct(pred, gold),
            tokens_used=len(answer.tokens),
            probe_tokens_used=answer.probe_tokens,
        )


def difference_to(line: AnswerLine, again: Answer, names: Mapping[str, str]) -> str:
    """Where decoding again leaves the record, as a sentence; empty where it does not. `names`: of entries by id."""
    for step, decision in zip(line.steps, again.decisions, strict=False):
        if not _same_choice(step, decision):
            there, here = (
                names.get(chosen or "null", chosen or "null") for chosen in (step.chosen, decision.chosen)
            )
            if there == here:
                there, here = f"{there} at α {step.alpha:.4g}", f"{here} at α {decision.alpha:.4g}"
            return f"segment {decision.m} chose {there} then and {here} now"
        if step.committed_tokens != decision.committed_tokens:
            then, now = step.committed_tokens, decision.committed_tokens
            return f"segment {decision.m} had {then} tokens then and {now} now"
    if line.text != again.text:
        return "the same decisions lead to another text"
    return ""


def _same_choice(step: Step, decision: DecisionTaken) -> bool:
    close = abs(step.alpha - decision.alpha) <= SAME_STRENGTH * max(abs(step.alpha), 1e-9)
    return step.chosen == decision.chosen and close
