"""The sampler of evidence paths, folded from its events: training, figures beside baselines, questions."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from app.state.columns import Grow
from app.state.method import MethodState, Place
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
    nodes: int
    edges: int
    place: Place


class EvidenceRow(NamedTuple):
    """A held-out question's answer from one kind of evidence; its prompt stands in the log."""

    sample_id: str
    method: str
    question: str
    answer: str
    hit: bool
    recall: float
    triples: int
    tokens: int
    place: Place


class GFlowNetState(MethodState):
    """Everything the GFlowNet screen knows. Read it; only `apply` of a fold changes it."""

    title = "GFlowNet"
    stages_shown = ("graphs", "retriever", "agent-graphs", "gflownet", "answer")
    page = "app.methods.gflownet.page:GFlowNetPage"
    fields_of_stage: ClassVar = {
        "graphs": ("graphs",),
        "retriever": ("epochs", "recall"),
        "agent-graphs": ("agent_graphs",),
        "answer": ("answers", "compared"),
    }

    def __init__(self) -> None:
        self.graphs: dict[str, ev.GraphsBuilt] = {}
        self.epochs: Grow[ev.RetrieverEpoch] = Grow()
        self.recall: dict[str, ev.RetrieverMeasured] = {}
        self.agent_graphs: dict[str, ev.AgentGraphsBuilt] = {}
        self.answers: Grow[EvidenceRow] = Grow()
        self.compared: dict[str, ev.EvidenceCompared] = {}
        self.steps: Grow[StepRow] = Grow()
        self.total_steps = 0
        self.evaluated: Grow[ev.SamplerEvaluated] = Grow()
        self.questions: Grow[QuestionRow] = Grow()

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


@GFlowNetState.on(ev.SamplerStep)
def _step(state: GFlowNetState, event: ev.SamplerStep, place: Place) -> None:
    row = StepRow(
        event.step,
        event.loss,
        event.tb_loss,
        event.gt_loss,
        event.pb_nll,
        event.pb_entropy,
        event.pb_l2,
        event.pb_avg_entropy,
        event.residual,
        tuple(event.residual_quantiles),
        event.log_z,
        event.prior_alpha,
        event.success_mean,
        event.path_hit_f1,
        event.rollout_reward,
        event.length_mean,
        event.trajectories_per_second,
        place,
    )
    state.total_steps = event.steps
    state.steps.append(row, key=event.step)


@GFlowNetState.on(ev.SamplerEvaluated)
def _evaluated(state: GFlowNetState, event: ev.SamplerEvaluated, place: Place) -> None:
    state.evaluated.append(event, key=(event.split, event.method, event.step))


@GFlowNetState.on(ev.QuestionSampled)
def _question(state: GFlowNetState, event: ev.QuestionSampled, place: Place) -> None:
    met = {answer for path in event.paths for answer in path.answers}
    hits = sum(path.count for path in event.paths if path.answers)
    row = QuestionRow(
        event.sample_id,
        event.question,
        len(event.answers),
        len(met),
        hits / event.samples if event.samples else 0.0,
        len(event.paths),
        next((rank for rank, path in enumerate(event.paths, 1) if path.answers), None),
        event.nodes,
        event.edges,
        place,
    )
    state.questions.append(row, key=event.sample_id)


@GFlowNetState.on(ev.GraphsBuilt)
def _graphs(state: GFlowNetState, event: ev.GraphsBuilt, place: Place) -> None:
    state.graphs[event.split] = event


@GFlowNetState.on(ev.RetrieverEpoch)
def _epoch(state: GFlowNetState, event: ev.RetrieverEpoch, place: Place) -> None:
    state.epochs.append(event, key=event.epoch)


@GFlowNetState.on(ev.RetrieverMeasured)
def _recall(state: GFlowNetState, event: ev.RetrieverMeasured, place: Place) -> None:
    state.recall[event.split] = event


@GFlowNetState.on(ev.AgentGraphsBuilt)
def _agent_graphs(state: GFlowNetState, event: ev.AgentGraphsBuilt, place: Place) -> None:
    state.agent_graphs[event.split] = event


@GFlowNetState.on(ev.EvidenceAnswered)
def _answered(state: GFlowNetState, event: ev.EvidenceAnswered, place: Place) -> None:
    row = EvidenceRow(
        event.sample_id,
        event.method,
        event.question,
        event.answer,
        event.hit,
        event.recall,
        event.triples,
        event.prompt_tokens,
        place,
    )
    state.answers.append(row, key=(event.sample_id, event.method))


@GFlowNetState.on(ev.EvidenceCompared)
def _compared(state: GFlowNetState, event: ev.EvidenceCompared, place: Place) -> None:
    state.compared[event.method] = event
