"""ESM: evaluated examples under each method of the stage eval, with the decisions at their control points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.comparison.items import Item
from engine.comparison.methods.reader import Criterion, MethodReader, Outcome, ReadEvent, verdict
from engine.comparison.trace import Step, Value
from engine.esm.library.entry_names import candidate_name, chosen_name
from engine.events import DecisionTaken, ExampleEvaluated


class ESMReader(MethodReader):
    """Decisions are kept as places only: there are many, and each is long."""

    system = "ESM"
    kinds = (ExampleEvaluated, DecisionTaken)
    criteria = {"": Criterion("eval", "the extracted answer equals the gold answer")}

    def outcomes(self, event: ExampleEvaluated | DecisionTaken) -> Iterable[Outcome]:
        if isinstance(event, ExampleEvaluated):
            yield Outcome(
                event.method, event.example, event.question, f"{event.question}\n{event.gold}",
                float(event.correct), event.correct, event.budget_used, trace=event.method,
            )  # fmt: skip

    def leads_to(self, event: ExampleEvaluated | DecisionTaken) -> tuple[str, str, tuple[int, str]] | None:
        if isinstance(event, DecisionTaken):
            return event.method, event.example, (event.m, event.phase)
        return None

    def steps(self, arm: str, item: Item, read: ReadEvent) -> Sequence[Step]:
        """With decisions, the answer's text is in their segments already."""
        *decisions, answer = super().steps(arm, item, read)
        return [*decisions, replace(answer, text="")] if decisions else [answer]

    def steps_of(self, event: ExampleEvaluated | DecisionTaken, arm: str) -> Iterable[Step]:
        if isinstance(event, DecisionTaken):
            yield _decision(event)
        else:
            decided: dict[str, Value] = {"answer": event.pred, "verdict": verdict(event.correct)}
            yield Step("answer", "answer", decided, text=event.text)


def _decision(event: DecisionTaken) -> Step:
    weighed: dict[str, Value] = {"null": event.null_logprob}
    weighed |= {c.entry: c.logprob for c in event.candidates if c.probed}
    probed = sum(candidate.probed for candidate in event.candidates)
    decided: dict[str, Value] = {"rule": event.gate, "entry": event.chosen or "null"}
    called = {c.entry: candidate_name(c) for c in event.candidates}
    if event.chosen is not None:
        decided |= {"layer": event.layer, "α": event.alpha}
        called[event.chosen] = chosen_name(event)
    entries = "entry" if probed == 1 else "entries"
    words = f"{probed} {entries} and null probed" if probed else "nothing probed"
    title = "rest of the answer" if event.phase == "tail" else f"segment {event.m}"
    return Step(f"{event.phase} {event.m}", title, decided, weighed, event.segment, words, "probe", called)
