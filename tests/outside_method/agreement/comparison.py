"""What of it is compared between two runs: how far the samples of each question agree."""

from __future__ import annotations

from collections.abc import Iterable

from agreement.events import AgreementMeasured
from engine.comparison.methods.reader import Criterion, MethodReader, Outcome
from engine.comparison.trace import Step


class AgreementReader(MethodReader):
    system = "Agreement"
    kinds = (AgreementMeasured,)
    criteria = {"": Criterion("agreement", "all samples give the same answer")}

    def outcomes(self, event: AgreementMeasured) -> Iterable[Outcome]:
        yield Outcome("samples", event.example, event.example, event.example, event.share, event.share == 1)

    def steps_of(self, event: AgreementMeasured, arm: str) -> Iterable[Step]:
        yield Step("answer", "answer", {"answer": event.answer, "share": event.share})
