"""What if: a question sampled more often, or less. The engine's part; the fields are declared by the page."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from agreement.stage import measure
from engine.config.section import Section
from engine.esm.examples import evaluation_examples
from engine.events import AnswerTried, OtherAnswer
from engine.run.stage import StageContext


class Samples(Section):
    """The request: how many samples of which question."""

    example: str
    samples: Annotated[int, Field(ge=2, le=100)]


class MoreSamples:
    """Samples a question again."""

    form: ClassVar[type[Section]] = Samples
    stage: ClassVar[str] = "agreement"

    def __init__(self, context: StageContext) -> None:
        self._context = context
        self._examples = {example.id: example for example in evaluation_examples(context.config)}

    def tried(self, wanted: Samples) -> AnswerTried:
        """The most frequent answer of as many samples as the run drew, and of as many as are asked for."""
        example = self._examples[wanted.example]
        recorded = self._answer(wanted.example, self._context.config.agreement.samples)  # type: ignore[attr-defined]
        return AnswerTried(
            system="agreement", example=example.id, case={}, question=example.question, committed=recorded,
            none=recorded, yours=[self._answer(wanted.example, wanted.samples)], exact=True,
        )  # fmt: skip

    def _answer(self, name: str, samples: int) -> OtherAnswer:
        line, tokens = measure(self._context, self._examples[name], samples)
        return OtherAnswer(
            given=f"{samples} samples", text=f"{line['answer']}: {line['share']:.0%}", tokens=tokens
        )
