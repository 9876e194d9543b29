"""The sampler of evidence paths, folded from its events: training, figures beside baselines, questions."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from app.state.columns import AppendOnlyList
from app.state.method import MethodState, row_of
from engine import events as ev
from engine.run.event_log import LogPlace


class QuestionRow(NamedTuple):
    """A held-out question as a list shows it; its paths stand in the log."""

    sample_id: str
    question: str
    answers: int
    met: int
    success: float
    unique: int
    first_hit: int | None
    edges: int
    place: LogPlace


class EvidenceRow(NamedTuple):
    """A held-out question's answer from one kind of evidence; its prompt stands in the log."""

    sample_id: str
    method: str
    question: str
    answer: str
    hit: bool
    place: LogPlace


class GFlowNetState(MethodState):
    """Everything the GFlowNet screen knows. Read it; only `apply` of a fold changes it."""

    title = "GFlowNet"
    stages_shown = ("graphs", "retriever", "agent-graphs", "gflownet", "answer")
    page = "app.methods.gflownet.page:PAGE"
    fields_of_stage: ClassVar = {
        "graphs": ("graphs",),
        "retriever": ("epochs", "recall"),
        "agent-graphs": ("agent_graphs",),
        "answer": ("answers", "compared"),
    }

    def __init__(self) -> None:
        self.graphs: dict[str, ev.GraphsBuilt] = {}
        self.epochs: AppendOnlyList[ev.RetrieverEpoch] = AppendOnlyList()
        self.recall: dict[str, ev.RetrieverMeasured] = {}
        self.agent_graphs: dict[str, ev.AgentGraphsBuilt] = {}
        self.answers: AppendOnlyList[EvidenceRow] = AppendOnlyList()
        self.compared: dict[str, ev.EvidenceCompared] = {}
        self.steps: AppendOnlyList[ev.SamplerStep] = AppendOnlyList()
        self.evaluated: AppendOnlyList[ev.SamplerEvaluated] = AppendOnlyList()
        self.questions: AppendOnlyList[QuestionRow] = AppendOnlyList()

    @property
    def validation(self) -> list[ev.SamplerEvaluated]:
        """The sampler on the validation split, as training went on."""
        return [event for event in self.evaluated if event.split == "validation"]

    @property
    def kept(self) -> ev.SamplerEvaluated | None:
        """The best evaluation on validation so far, whose weights are kept; None before the first, and in runs of
        versions that kept the last weights."""
        return next((event for event in reversed(self.validation) if event.best), None)

    @property
    def test(self) -> list[ev.SamplerEvaluated]:
        """Sampler and baselines on the held-out split."""
        return [event for event in self.evaluated if event.split == "test"]


GFlowNetState.keeps(ev.SamplerStep, "steps", "step")
GFlowNetState.keeps(ev.SamplerEvaluated, "evaluated", "split", "method", "step")
GFlowNetState.keeps(ev.GraphsBuilt, "graphs", "split")
GFlowNetState.keeps(ev.RetrieverEpoch, "epochs", "epoch")
GFlowNetState.keeps(ev.RetrieverMeasured, "recall", "split")
GFlowNetState.keeps(ev.AgentGraphsBuilt, "agent_graphs", "split")
GFlowNetState.keeps(ev.EvidenceCompared, "compared", "method")


@GFlowNetState.on(ev.QuestionSampled)
def _question(state: GFlowNetState, event: ev.QuestionSampled, place: LogPlace) -> None:
    met = {answer for path in event.paths for answer in path.answers}
    hits = sum(path.count for path in event.paths if path.answers)
    first_hit = next((rank for rank, path in enumerate(event.paths, 1) if path.answers), None)
    success = hits / event.samples if event.samples else 0.0
    row = row_of(
        QuestionRow, event, place, answers=len(event.answers), met=len(met), success=success,
        unique=len(event.paths), first_hit=first_hit,
    )  # fmt: skip
    state.questions.append(row, key=event.sample_id)


@GFlowNetState.on(ev.EvidenceAnswered)
def _answered(state: GFlowNetState, event: ev.EvidenceAnswered, place: LogPlace) -> None:
    state.answers.append(row_of(EvidenceRow, event, place), key=(event.sample_id, event.method))
