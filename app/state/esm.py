"""ESM, folded from its events: what was mined, picked and decided, and the results of each method."""

from __future__ import annotations

from typing import NamedTuple

from app.state.columns import Grow, Names, Texts
from app.state.decisions import NULL, Decisions, Outcomes
from app.state.ledger import UNUSED, EntryUse
from app.state.method import MethodState, Place
from engine import events as ev

METHOD = "esm"
"""The method itself; every other one is a baseline or an ablation of it."""
GREEDY = "greedy"


class Rollouts(NamedTuple):
    """A mined training example."""

    example: str
    n: int
    correct: int
    mean_tokens: float
    mean_reward: float
    pairs: int
    place: Place


class Pair(NamedTuple):
    """A contrastive pair; its texts stand in the log."""

    pair: str
    example: str
    m: int
    layer: int
    quality: float
    positives: int
    negatives: int
    delta_norm: float
    source: str
    effect: str
    place: Place


class Pick(NamedTuple):
    """A library entry in the order in which it was taken."""

    order: int
    entry: str
    kind: str
    example: str
    m: int
    layer: int
    quality: float
    gain: float
    objective: float
    max_similarity: float
    reason: str
    place: Place


class CurvePoint(NamedTuple):
    """A running figure of a method."""

    n: int
    accuracy: float


class ESMState(MethodState):
    """What the ESM screen knows. `running` and `final` hold each method's last row; `curves` all running rows, in
    order. `ledger`: what came of each entry that the method esm injected. `steered`: numbers of the methods other than
    greedy that have an outcome."""

    title = "ESM"
    stages_shown = ("mine", "select", "memory", "eval")
    also_shows = ("serve",)
    screen = "screens.esm.screen:EsmScreen"

    def __init__(self) -> None:
        self.names = Names()
        self.rollouts: Grow[Rollouts] = Grow()
        self.pairs: Grow[Pair] = Grow()
        self.picks: Grow[Pick] = Grow()
        self.memory: ev.MemoryBuilt | None = None
        self.questions = Texts()
        self.decisions = Decisions(self.names)
        self.outcomes = Outcomes(self.names)
        self.ledger: dict[str, EntryUse] = {}
        self.greedy_texts = Texts()
        self.steered: dict[int, None] = {}
        self.running: dict[str, ev.MethodEvaluated] = {}
        self.final: dict[str, ev.MethodEvaluated] = {}
        self.curves: dict[str, Grow[CurvePoint]] = {}

    @property
    def methods(self) -> list[ev.MethodEvaluated]:
        """Each method's row: final where there is one, else running."""
        return [self.final.get(method, row) for method, row in self.running.items()]

    def question(self, example: str) -> str:
        """The example's question, or nothing before an event holds it."""
        return self.questions.get(example)


@ESMState.on(ev.RolloutsMined)
def _rollouts(state: ESMState, event: ev.RolloutsMined, place: Place) -> None:
    state.questions[event.example] = event.question
    state.rollouts.append(
        Rollouts(
            event.example,
            event.n,
            event.correct,
            event.mean_tokens,
            event.mean_reward,
            event.pairs,
            place,
        ),
        key=event.example,
    )


def effect(event: ev.PairMined) -> str:
    """What a pair's vector did on its own problem, in a word: fixes, none, unneeded (right without it), harms; empty
    where it was not tried out."""
    if event.steered_correct is None:
        return ""
    if event.wrong_correct:
        return "unneeded" if event.steered_correct else "harms"
    return "fixes" if event.steered_correct else "none"


@ESMState.on(ev.PairMined)
def _pair(state: ESMState, event: ev.PairMined, place: Place) -> None:
    state.pairs.append(
        Pair(
            event.pair,
            event.example,
            event.control_point_m,
            event.layer,
            event.quality,
            event.positives,
            event.negatives,
            event.delta_norm,
            event.source,
            effect(event),
            place,
        ),
        key=event.pair,
    )


@ESMState.on(ev.EntryPicked)
def _pick(state: ESMState, event: ev.EntryPicked, place: Place) -> None:
    state.picks.append(
        Pick(
            event.order,
            event.tool_name,
            event.kind,
            event.example,
            event.control_point_m,
            event.layer,
            event.quality,
            event.gain,
            event.objective,
            event.max_similarity,
            event.reason,
            place,
        ),
        key=(event.order, event.tool_name),
    )


@ESMState.on(ev.MemoryBuilt)
def _memory(state: ESMState, event: ev.MemoryBuilt, place: Place) -> None:
    state.memory = event


@ESMState.on(ev.DecisionTaken)
def _decision(state: ESMState, event: ev.DecisionTaken, place: Place) -> None:
    new = state.decisions.append(event, *place)
    if new and event.chosen is not None and event.method == METHOD:
        use = state.ledger.get(event.chosen, UNUSED)
        state.ledger[event.chosen] = use.injected(event.delta_logprob)


@ESMState.on(ev.QuestionAsked)
def _asked(state: ESMState, event: ev.QuestionAsked, place: Place) -> None:
    state.questions[event.example] = event.question


@ESMState.on(ev.ExampleEvaluated)
def _example(state: ESMState, event: ev.ExampleEvaluated, place: Place) -> None:
    state.questions[event.example] = event.question
    if not state.outcomes.append(event, *place):
        return
    method, example = state.names.number(event.method), state.names.number(event.example)
    if event.method != GREEDY:
        state.steered[method] = None
        _compare(state, method, example)
        return
    state.greedy_texts[event.example] = event.text
    for other in state.steered:  # those that answered it before greedy did
        _compare(state, other, example)


def _compare(state: ESMState, method: int, example: int) -> None:
    """Where a method's answer left greedy's way, and which entry turned it; nothing before both are known."""
    sign = state.outcomes.against_greedy(method, example)
    greedy = state.greedy_texts.get(state.names.texts[example])
    if sign is None or not greedy:
        return
    chain = state.decisions.chain(method, example)
    left = state.decisions.first_difference(chain, greedy)
    state.outcomes.leaves(method, example, left)
    if sign and left and state.names.texts[method] == METHOD:
        chosen = state.decisions.column("chosen")[chain[left - 1]]
        if chosen != NULL:
            entry = state.names.texts[chosen]
            state.ledger[entry] = state.ledger.get(entry, UNUSED).turned(sign)


@ESMState.on(ev.MethodEvaluated)
def _method(state: ESMState, event: ev.MethodEvaluated, place: Place) -> None:
    state.running[event.method] = event
    if event.final:
        state.final[event.method] = event
    state.curves.setdefault(event.method, Grow()).append(CurvePoint(event.n, event.accuracy))
