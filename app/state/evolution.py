"""The evolution, folded from its events: iterations, answers, deltas, the reflector's replies, the server."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

from app.state.columns import AppendOnlyList
from app.state.method import MethodState, row_of
from engine import events as ev
from engine.evolution.splits import BASELINE, MINIBATCH, UNCHANGED, UNDER_DELTAS, VALIDATION
from engine.run.event_log import LogPlace


class AnswerRow(NamedTuple):
    """An answer as a list shows it; its text, tokens and judgement stand in the log. Beside the unchanged model's
    answer to the same question: `turned`: 1 where only this one is right, -1 where only that one is; `longer`: by how
    many tokens; None where there is no such answer."""

    iteration: int
    split: str
    example: str
    question: str
    gold: str
    tokens: int
    correct: bool | None
    turned: int
    longer: int | None
    place: LogPlace


@dataclass(frozen=True)
class IterationState:
    """One iteration. `scores` by split; `reply`: the reflector's, once there is one; `server`: what the model server
    did last in it; `place`: of its first event."""

    iteration: int
    deltas: dict[str, float]
    scores: dict[str, ev.AnswersScored] = field(default_factory=dict)
    reply: ev.ReflectorReplied | None = None
    finished: bool = False
    server: ev.ServerChanged | None = None
    place: LogPlace | None = None

    @property
    def minibatch(self) -> ev.AnswersScored | None:
        """Its score on the minibatch."""
        return self.scores.get(MINIBATCH)

    @property
    def validation(self) -> ev.AnswersScored | None:
        """Its score on the validation set, if it was asked."""
        return self.scores.get(VALIDATION)

    @property
    def best(self) -> bool:
        """Whether it was a new best, by the score that decides."""
        return any(score.best for score in self.scores.values())


class EvolutionState(MethodState):
    """Everything the evolution screen knows. Read it; only `apply` of a fold changes it."""

    title = "Evolution"
    stages_shown = ("clusters", "evolve")
    page = "app.methods.evolution.page:PAGE"
    screen = "screens.evolution.screen:EvolutionScreen"
    fields_of_stage: ClassVar = {"clusters": ("clusters",)}

    def __init__(self) -> None:
        self.began: ev.EvolutionBegan | None = None
        self.clusters: dict[str, ev.TokenCluster] = {}
        self.iterations: dict[int, IterationState] = {}
        self.answers: AppendOnlyList[AnswerRow] = AppendOnlyList()
        self.baseline: ev.AnswersScored | None = None
        self.server: ev.ServerChanged | None = None
        self.compared: dict[str, ev.MethodCompared] = {}
        self.usage: ev.IterationFinished | None = None

    @property
    def best(self) -> IterationState | None:
        """The last new best."""
        return next((item for item in reversed(self.iterations.values()) if item.best), None)

    @property
    def by_minibatch(self) -> bool:
        """Whether each iteration's own minibatch decides on the best deltas, and not a validation set."""
        return self.began is not None and self.began.best_by == MINIBATCH

    @property
    def decided_on(self) -> str:
        """What the best deltas are chosen on, in words."""
        return "its minibatch" if self.by_minibatch else "the validation set"

    def deciding(self, item: IterationState) -> ev.AnswersScored | None:
        """The score that says whether an iteration is a new best; None where it was not measured."""
        return item.minibatch if self.by_minibatch else item.validation

    def gain(self, iteration: int) -> tuple[float, str] | None:
        """The composite that an iteration had to beat, and whose it was; None where it was not tried, or was the first
        to be."""
        item = self.iterations.get(iteration)
        if item is None or self.deciding(item) is None:
            return None
        earlier = [i for i in self.iterations.values() if i.iteration < iteration and i.best]
        if earlier and (best := self.deciding(earlier[-1])) is not None:
            return best.composite, f"iteration {earlier[-1].iteration}"
        return None if self.by_minibatch or self.baseline is None else (self.baseline.composite, "no deltas")

    def unchanged(self, example: str) -> AnswerRow | None:
        """The unchanged model's answer to a question, once there is one."""
        rows = (self.answers.find((0, split, example)) for split in UNCHANGED)
        return next((row for row in rows if row is not None), None)

    def change(self, iteration: int, **changes: object) -> None:
        """Exchange an iteration for a changed one."""
        item = self.iterations.get(iteration) or IterationState(iteration, {})
        self.iterations[iteration] = replace(item, **changes)  # type: ignore[arg-type]


EvolutionState.keeps(ev.EvolutionBegan, "began")
EvolutionState.keeps(ev.MethodCompared, "compared", "method")


@EvolutionState.on(ev.ClustersBuilt)
def _clusters(state: EvolutionState, event: ev.ClustersBuilt, place: LogPlace) -> None:
    state.clusters = {str(cluster.id): cluster for cluster in event.clusters}


@EvolutionState.on(ev.ServerChanged)
def _server(state: EvolutionState, event: ev.ServerChanged, place: LogPlace) -> None:
    state.server = event
    last = next(reversed(state.iterations.values()), None)
    if last is not None and not last.finished:
        state.change(last.iteration, server=event)


@EvolutionState.on(ev.IterationBegan)
def _iteration(state: EvolutionState, event: ev.IterationBegan, place: LogPlace) -> None:
    state.change(event.iteration, deltas=event.deltas, place=place)


@EvolutionState.on(ev.AnswerJudged)
def _answer(state: EvolutionState, event: ev.AnswerJudged, place: LogPlace) -> None:
    plain = None if event.split in UNCHANGED else state.unchanged(event.example)
    judged = plain is not None and None not in (plain.correct, event.correct)
    turned = int(bool(event.correct)) - int(bool(plain.correct)) if plain is not None and judged else 0
    longer = None if plain is None else event.tokens - plain.tokens
    row = row_of(AnswerRow, event, place, turned=turned, longer=longer)
    state.answers.append(row, key=(event.iteration, event.split, event.example))


@EvolutionState.on(ev.AnswersScored)
def _scored(state: EvolutionState, event: ev.AnswersScored, place: LogPlace) -> None:
    if event.split not in UNDER_DELTAS:
        if event.split == BASELINE:
            state.baseline = event
        return
    item = state.iterations.get(event.iteration) or IterationState(event.iteration, {})
    state.change(event.iteration, scores={**item.scores, event.split: event})


@EvolutionState.on(ev.ReflectorReplied)
def _reply(state: EvolutionState, event: ev.ReflectorReplied, place: LogPlace) -> None:
    state.change(event.iteration, reply=event)


@EvolutionState.on(ev.IterationFinished)
def _finished(state: EvolutionState, event: ev.IterationFinished, place: LogPlace) -> None:
    state.usage = event
    state.change(event.iteration, finished=True)
