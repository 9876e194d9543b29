"""Evolution: the judged answers to the test set, and to the validation set under the best deltas and without any."""

from __future__ import annotations

from collections.abc import Iterable

from engine.comparison.items import Arm
from engine.comparison.methods.reader import Criterion, MethodReader, Outcome, as_score, verdict
from engine.comparison.trace import Step, Value
from engine.events import AnswerJudged, AnswersScored, Event, IterationBegan
from engine.run.event_log import LogPlace

_ARMS = {
    "test": "best deltas",
    "test_plain": "no processor",
    "test_brief": "request for short answers",
    "validation": "best deltas (validation)",
    "baseline": "no processor (validation)",
}
"""Arms by split. Minibatches are drawn anew in each iteration and decide nothing."""


class EvolutionReader(MethodReader):
    """Of the answers of a split, those of one iteration count: on validation the best one, on the test set the last one
    that was tested."""

    system = "Evolution"
    kinds = (AnswerJudged, AnswersScored, IterationBegan)
    criteria = {"": Criterion("evolve", "the judge says that the answer is right")}

    def __init__(self) -> None:
        super().__init__()
        self._best: int | None = None

    def take(self, event: Event, place: LogPlace) -> None:
        super().take(event, place)
        if isinstance(event, AnswersScored) and event.best and event.split == "validation":
            self._best = event.iteration

    def arms(self) -> list[Arm]:
        return sorted(super().arms(), key=lambda arm: list(_ARMS.values()).index(arm.name))

    def round_of(self, arm: str) -> int | None:
        return self._best if arm == _ARMS["validation"] else super().round_of(arm)

    def outcomes(self, event: Event) -> Iterable[Outcome]:
        if isinstance(event, AnswerJudged) and event.split in _ARMS:
            deltas = f"deltas {event.iteration}" if event.split in ("test", "validation") else ""
            yield Outcome(
                _ARMS[event.split], event.example, event.question, f"{event.question}\n{event.gold}",
                as_score(event.correct), event.correct, event.tokens, round=event.iteration, trace=deltas,
            )  # fmt: skip

    def leads_to(self, event: Event) -> tuple[str, str, tuple[int, str]] | None:
        return (f"deltas {event.iteration}", "", (0, "")) if isinstance(event, IterationBegan) else None

    def steps_of(self, event: IterationBegan | AnswerJudged, arm: str) -> Iterable[Step]:
        if isinstance(event, IterationBegan):
            deltas: dict[str, Value] = {f"Δ{name}": float(value) for name, value in event.deltas.items()}
            # The same for all items: what became of each of them is in its answer.
            origin = f"of iteration {event.iteration}"
            yield Step("deltas", "deltas", {}, deltas, note=origin, weighed_as="setting")
        else:
            decided: dict[str, Value] = {"tokens": event.tokens, "verdict": verdict(event.correct)}
            yield Step("answer", "answer", decided, text=event.answer, note=event.reasoning)
