"""What if: an answer of the evolution given again under other deltas.

Seeds belong to questions and iterations, so nothing else moves: whatever is different in the new answer comes from the
deltas. The unchanged answer is given beside it, and the event says whether it repeats the record.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from engine.config.section import Finite, NonNegativeInt, Section
from engine.errors import DataError
from engine.events import AnswerTried, OtherAnswer
from engine.evolution import layout
from engine.evolution.answers import AnswerRecord
from engine.evolution.clusters.cluster_map import load_cluster_map
from engine.evolution.deltas import Deltas, check_deltas, zero_deltas
from engine.evolution.from_config import make_judge
from engine.evolution.history import Iteration, read_history
from engine.evolution.judges.judge import judge_with_retries
from engine.evolution.processor import LoadedProcessor, processor_source
from engine.evolution.questions import ask, load_splits
from engine.evolution.scoring.comparison import BRIEF
from engine.evolution.splits import ON_TEST, TEST_BRIEF, UNDER_DELTAS, brief_split
from engine.files import read_records
from engine.lm.model_server import ModelAnswer, answer_questions
from engine.run.stage import StageContext
from engine.spreadsheet import text_of_cell
from engine.tasks.example import TaskExample

MOST_SCALES = 64


class WhatIfRequest(Section):
    """The choice to try: the deltas of iteration `of`, or those of the answer itself; with the numbers in `put` for
    some clusters instead; all of them times each of `scales`, an answer each."""

    iteration: NonNegativeInt
    split: str
    example: str
    of: NonNegativeInt | None = None
    put: dict[str, Finite] = {}
    scales: Annotated[
        list[Annotated[float, Field(ge=-1000, le=1000)]], Field(min_length=1, max_length=MOST_SCALES)
    ] = [1.0]


class WhatIf:
    """The answers of a run's evolution, ready to be given again. Raises DataError where clusters are missing."""

    form: ClassVar[type[Section]] = WhatIfRequest
    stage: ClassVar[str] = "evolve"

    def __init__(self, context: StageContext) -> None:
        config, run_dir = context.config, context.run_dir
        self._context, self._config, self._run_dir = context, config, run_dir
        self._clusters = load_cluster_map(layout.folder(run_dir))
        questions = load_splits(config)
        self._examples = {e.id: e for e in (*questions.pool, *questions.validation, *questions.test)}
        self._judge = make_judge(context)

    def tried(self, request: WhatIfRequest) -> AnswerTried:
        """The answers: under its own deltas, under none, and under the requested ones at each scale. Raises DataError
        for what the run does not have."""
        record = self._recorded(request)
        example = self._examples[request.example]
        deltas = self._recorded_deltas(request)
        committed = self._answer(example, request, deltas, _run_words(request))
        none = self._answer(example, request, None, "no deltas")
        yours = [self._answer(example, request, *self._other(request, deltas, by)) for by in request.scales]
        difference = self._difference(record, committed[1])
        return AnswerTried(
            system="evolution",
            example=example.id,
            case={"iteration": request.iteration, "split": request.split},
            question=example.question,
            gold=example.answer,
            committed=committed[0],
            none=none[0],
            yours=[answer for answer, _ in yours],
            exact=not difference,
            difference=difference,
        )

    # ------------------------------------------------------------ the record

    def _recorded(self, request: WhatIfRequest) -> AnswerRecord:
        path = layout.answers(self._run_dir)
        records = read_records(path, AnswerRecord) if path.is_file() else []
        key = (request.iteration, request.split, request.example)
        matches = [record for record in records if (record.iteration, record.split, record.example_id) == key]
        if not matches or request.example not in self._examples:
            raise DataError(
                what=f"iteration {request.iteration} has no answer to {request.example!r} in {request.split}",
                where=str(path),
                hint="choose an answer of this run",
            )
        return matches[-1]

    def _iteration(self, number: int) -> Iteration:
        iterations = read_history(layout.history(self._run_dir)).iterations
        if number >= len(iterations):
            raise DataError(
                what=f"iteration {number} is not finished" if iterations else "no iteration is finished",
                where=str(layout.history(self._run_dir)),
                hint=f"choose one of 0 to {len(iterations) - 1}" if iterations else "wait for the first one",
            )
        return iterations[number]

    def _recorded_deltas(self, request: WhatIfRequest) -> Deltas | None:
        """What the recorded answer was given under; None where no processor was at work."""
        return self._iteration(request.iteration).deltas if request.split in UNDER_DELTAS else None

    def _suffix(self, split: str) -> str:
        """The request for a short answer that was put after the question."""
        prompts = self._config.evolution.brief_prompts
        known = {brief_split(number): prompt for number, prompt in enumerate(prompts)}
        if split != TEST_BRIEF:
            return known.get(split, "")
        with layout.comparison(self._run_dir).open(encoding="utf-8", newline="") as file:
            return next(
                (text_of_cell(row["prompt"]) for row in csv.DictReader(file) if row["method"] == BRIEF), ""
            )

    def _difference(self, record: AnswerRecord, again: ModelAnswer) -> str:
        if record.token_ids == again.tokens and record.answer == again.text:
            return ""
        if self._config.evolution.server.kind == "sglang":
            return "an SGLang server gave the recorded answer, the model of this process the new one"
        same = next(
            (i for i, (a, b) in enumerate(zip(record.token_ids, again.tokens, strict=False)) if a != b),
            min(len(record.token_ids), len(again.tokens)),
        )
        return f"the answers differ after {same} of {len(record.token_ids)} tokens"

    # ------------------------------------------------------------ another choice

    def _other(self, request: WhatIfRequest, deltas: Deltas | None, scale: float) -> tuple[Deltas, str]:
        """The deltas to try, and what they are in words."""
        names = self._clusters.names
        unknown = [name for name in request.put if name not in names]
        if unknown:
            raise DataError(
                what=f"there is no cluster {', '.join(unknown)}",
                where=str(layout.folder(self._run_dir)),
                hint=f"choose clusters of {names[0]} to {names[-1]}",
            )
        base = self._iteration(request.of).deltas if request.of is not None else deltas or zero_deltas(names)
        changed = {**base, **request.put}
        words = [f"deltas of iteration {request.of}" if request.of is not None else "its own deltas"]
        words += [f"{number:+g} on cluster {name}" for name, number in request.put.items()]
        words += [f"times {scale:g}"] if scale != 1 else []
        scaled = {name: number * scale for name, number in changed.items()}
        return check_deltas(scaled, names, "the deltas to try"), ", ".join(words)

    def _answer(
        self, example: TaskExample, request: WhatIfRequest, deltas: Mapping[str, float] | None, words: str
    ) -> tuple[OtherAnswer, ModelAnswer]:
        model = self._context.load_model(self._config.evolution_model)
        processor = None
        if deltas is not None:
            processor = LoadedProcessor(processor_source(self._clusters, dict(deltas)), "the deltas to try")
        question = ask(example, self._config, request.iteration, self._suffix(request.split))
        (answer,) = answer_questions(model, [question], processor)
        golds, attempts = example.meta["answers"], self._config.evolution.judge.attempts
        verdict = judge_with_retries(self._judge, example.question, golds, answer.text, attempts)
        result = OtherAnswer(
            given=words,
            text=answer.text,
            right=verdict.correct,
            verdict=verdict.reasoning,
            tokens=len(answer.tokens),
            deltas=dict(deltas or {}),
        )
        return result, answer


def _run_words(request: WhatIfRequest) -> str:
    if request.split not in UNDER_DELTAS:
        return "no deltas, as in the run"
    where = "the best iteration" if request.split in ON_TEST else f"iteration {request.iteration}"
    return f"the deltas of {where}"
