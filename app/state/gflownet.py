"""The sampler of evidence paths, folded from its events: training, figures beside baselines, questions."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from app.state.columns import AppendOnlyList
from app.state.method import MethodState, Place, row_of
from engine import events as ev


class StepRow(NamedTuple):
    """A training step as list and charts show it."""

    step: int
    loss: float
    tb_loss: float
    gt_loss: float | None
    pb_nll: float | None
    pb_entropy: float | None
    pb_l2: float | None
    pb_avg_entropy: float
    residual: float
    quantiles: tuple[float, ...]
    log_z: float
    prior_alpha: float
    success: float
    path_f1: float
    reward: float
    length: float
    per_second: float
    place: Place


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
    place: Place


class EvidenceRow(NamedTuple):
    """A held-out question's answer from one kind of evidence; its prompt stands in the log."""

    sample_id: str
    method: str
    question: str
    answer: str
    hit: bool
    place: Place


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
        self.steps: AppendOnlyList[StepRow] = AppendOnlyList()
        self.total_steps = 0
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


GFlowNetState.keeps(ev.SamplerEvaluated, "evaluated", "split", "method", "step")
GFlowNetState.keeps(ev.GraphsBuilt, "graphs", "split")
GFlowNetState.keeps(ev.RetrieverEpoch, "epochs", "epoch")
GFlowNetState.keeps(ev.RetrieverMeasured, "recall", "split")
GFlowNetState.keeps(ev.AgentGraphsBuilt, "agent_graphs", "split")
GFlowNetState.keeps(ev.EvidenceCompared, "compared", "method")


@GFlowNetState.on(ev.SamplerStep)
def _step(state: GFlowNetState, event: ev.SamplerStep, place: Place) -> None:
    row = row_of(
        StepRow, event, place, quantiles=tuple(event.residual_quantiles), success=event.success_mean,
        path_f1=event.path_hit_f1, reward=event.rollout_reward, length=event.length_mean,
        per_second=event.trajectories_per_second,
    )  # fmt: skip
    state.total_steps = event.steps
    state.steps.append(row, key=event.step)


@GFlowNetState.on(ev.QuestionSampled)
def _question(state: GFlowNetState, event: ev.QuestionSampled, place: Place) -> None:
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
def _answered(state: GFlowNetState, event: ev.EvidenceAnswered, place: Place) -> None:
    state.answers.append(row_of(EvidenceRow, event, place), key=(event.sample_id, event.method))
