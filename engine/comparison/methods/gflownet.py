"""GFlowNet: held-out questions answered from evidence, and the paths that were drawn for them."""

from __future__ import annotations

from collections.abc import Iterable

from engine.comparison.methods.reader import Criterion, MethodReader, Outcome, verdict
from engine.comparison.trace import Step, Value
from engine.events import EvidenceAnswered, QuestionSampled, SampledPath

_PATHS = "drawn paths"


class GFlowNetReader(MethodReader):
    """A question counts as right where the answer names a gold answer, and under `drawn paths` where a path meets
    one."""

    system = "GFlowNet"
    kinds = (EvidenceAnswered, QuestionSampled)
    criteria = {
        _PATHS: Criterion("gflownet", "a drawn path meets an answer"),
        "": Criterion("answer", "the answer names a gold answer"),
    }

    def outcomes(self, event: EvidenceAnswered | QuestionSampled) -> Iterable[Outcome]:
        if isinstance(event, EvidenceAnswered):
            arm, right, tokens = event.method, event.hit, event.prompt_tokens
        else:
            arm, right, tokens = _PATHS, any(path.answers for path in event.paths), None
        asked = "\n".join((event.question, *sorted(event.golds)))
        yield Outcome(arm, event.sample_id, event.question, asked, float(right), right, tokens)

    def steps_of(self, event: EvidenceAnswered | QuestionSampled, arm: str) -> Iterable[Step]:
        if isinstance(event, EvidenceAnswered):
            size = f"{event.triples} triples, {event.prompt_tokens} tokens"
            yield Step("evidence", "evidence", text=event.prompt, note=size)
            yield Step("answer", "answer", {"verdict": verdict(event.hit)}, text=event.answer)
        else:
            yield from (_path(rank, path) for rank, path in enumerate(event.paths, 1))


def _path(rank: int, path: SampledPath) -> Step:
    words = [path.steps[0].head] if path.steps else []
    for step in path.steps:
        words += [f"-{step.relation}→", step.tail]
    meets: dict[str, Value] = {"meets": ", ".join(path.answers) or "no answer"}
    return Step(f"path {rank}", f"path {rank}", meets, {"probability": path.probability}, " ".join(words))
