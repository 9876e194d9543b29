"""ESM, folded from its events: what was mined, picked and decided, and the results of each method."""

from __future__ import annotations

from math import isnan
from typing import ClassVar, NamedTuple

from msgspec.structs import replace

from app.state.columns import AppendOnlyList, Names, Texts
from app.state.decisions import NULL, Decisions, Outcomes
from app.state.ledger import UNUSED, EntryUse
from app.state.method import MethodState, row_of
from engine import events as ev
from engine.esm.library.entry_names import entry_name, free_name, short_name, turned
from engine.run.event_log import LogPlace

METHOD = "esm"
"""The method itself; every other one is a baseline or an ablation of it."""
GREEDY = "greedy"


class Pair(NamedTuple):
    """A contrastive pair; its texts stand in the log. `words`: those in which they differ first."""

    pair: str
    words: str
    example: str
    m: int
    layer: int
    quality: float
    positives: int
    negatives: int
    delta_norm: float
    source: str
    effect: str
    place: LogPlace

    def entry_name(self, kind: str = "wrong") -> str:
        """What its entry of this kind is called, but for a number behind it."""
        return entry_name(kind, self.words, self.m) if self.words else short_name(f"{self.pair}_{kind}")


class Pick(NamedTuple):
    """A library entry in the order in which it was taken. `entry` is its id."""

    order: int
    entry: str
    name: str
    kind: str
    example: str
    m: int
    layer: int
    quality: float
    gain: float
    objective: float
    max_similarity: float
    reason: str
    place: LogPlace


class CurvePoint(NamedTuple):
    """A running figure of a method."""

    n: int
    accuracy: float


class ESMState(MethodState):
    """What the ESM screen knows. `rollouts`: whether each sampled answer is right. `running` and `final` hold each
    method's last row; `curves` all running rows, in order. `ledger`: what came of each entry that the method esm
    injected, by id. `entry_names`: what entries are called, by id. `steered`: numbers of the methods other than greedy
    that have an outcome."""

    title = "ESM"
    stages_shown = ("mine", "select", "memory", "eval")
    also_shows = ("serve",)
    page = "app.methods.esm.page:PAGE"
    screen = "screens.esm.screen:EsmScreen"
    fields_of_stage: ClassVar = {
        "mine": ("rollouts", "pairs"),
        "select": ("picks", "entry_names"),
        "memory": ("memory",),
        "": ("questions",),
    }

    def __init__(self) -> None:
        self.names = Names()
        self.rollouts: AppendOnlyList[bool] = AppendOnlyList()
        self.pairs: AppendOnlyList[Pair] = AppendOnlyList()
        self.picks: AppendOnlyList[Pick] = AppendOnlyList()
        self.entry_names = Texts()
        self.memory: ev.MemoryBuilt | None = None
        self.questions = Texts()
        self.decisions = Decisions(self.names)
        self.outcomes = Outcomes(self.names)
        self.ledger: dict[str, EntryUse] = {}
        self.greedy_texts = Texts()
        self.steered: dict[int, None] = {}
        self.running: dict[str, ev.MethodEvaluated] = {}
        self.final: dict[str, ev.MethodEvaluated] = {}
        self.curves: dict[str, AppendOnlyList[CurvePoint]] = {}

    @property
    def rollouts_right(self) -> int:
        """How many sampled answers are right."""
        return sum(self.rollouts[:])

    @property
    def methods(self) -> list[ev.MethodEvaluated]:
        """Each method's row: final where there is one, else running."""
        return [self.final.get(method, row) for method, row in self.running.items()]

    def entry_name(self, entry: str) -> str:
        """What the entry with this id is called."""
        return self.entry_names.get(entry) or short_name(entry)

    def named(self, decision: ev.DecisionTaken) -> ev.DecisionTaken:
        """The decision with the names of its candidates, which logs of older versions do not hold."""
        candidates = [replace(c, name=self.entry_name(c.entry)) for c in decision.candidates]
        return replace(decision, candidates=candidates)

    def question(self, example: str) -> str:
        """The example's question, or nothing before an event holds it."""
        return self.questions.get(example, "")


ESMState.keeps(ev.MemoryBuilt, "memory")


@ESMState.on(ev.RolloutEnded)
def _rollout(state: ESMState, event: ev.RolloutEnded, place: LogPlace) -> None:
    state.rollouts.append(event.correct, key=(event.example, event.draw))


def effect(event: ev.PairMined) -> str:
    """What a pair's vector did on its own problem, in a word: fixes, none, unneeded (right without it), harms; empty
    where it was not tried out."""
    if event.steered_correct is None:
        return ""
    if event.wrong_correct:
        return "unneeded" if event.steered_correct else "harms"
    return "fixes" if event.steered_correct else "none"


@ESMState.on(ev.PairMined)
def _pair(state: ESMState, event: ev.PairMined, place: LogPlace) -> None:
    words = turned(event.negative_text, None if event.source == "gold" else event.positive_text)
    row = row_of(Pair, event, place, m=event.control_point_m, words=words, effect=effect(event))
    state.pairs.append(row, key=event.pair)


@ESMState.on(ev.EntryPicked)
def _pick(state: ESMState, event: ev.EntryPicked, place: LogPlace) -> None:
    entry = event.tool_name
    if entry not in state.entry_names:
        state.entry_names[entry] = event.name or _name(state, event)
    row = row_of(Pick, event, place, entry=entry, name=state.entry_name(entry), m=event.control_point_m)
    state.picks.append(row, key=(event.order, event.tool_name))


def _name(state: ESMState, event: ev.EntryPicked) -> str:
    """As the stage would name it today; logs of older versions do not say it."""
    pair = state.pairs.find(event.tool_name.removesuffix(f"_{event.kind}"))
    name = pair.entry_name(event.kind) if pair is not None else short_name(event.tool_name)
    return free_name(name, set(state.entry_names.values()))


@ESMState.on(ev.DecisionTaken)
def _decision(state: ESMState, event: ev.DecisionTaken, place: LogPlace) -> None:
    names = state.entry_names
    for candidate in event.candidates:  # of an imported memory, or another run's, only decisions know
        if candidate.name and candidate.entry not in names:
            names[candidate.entry] = candidate.name
    decisions, row = state.decisions, state.decisions.row(event, *place)
    if decisions.add(*row):
        _use(state, len(decisions) - 1)
    elif (at := decisions.conflicting_row(*row)) is not None:
        answer = state.names[event.method], state.names[event.example]
        _compare(state, *answer, by=-1)
        _use(state, at, by=-1)
        decisions.put(at, *row[1:])
        _use(state, at)
        _compare(state, *answer)


def _use(state: ESMState, row: int, by: int = 1) -> None:
    """Count the entry that a decision injected, or (`by` -1) take that back."""
    decisions = state.decisions
    chosen, delta = decisions.text("chosen", row), decisions.column("delta_logprob")[row]
    if decisions.column("chosen")[row] != NULL and decisions.text("method", row) == METHOD:
        use = state.ledger.get(chosen, UNUSED)
        state.ledger[chosen] = use.injected(None if isnan(delta) else delta, by)


@ESMState.on(ev.RolloutsMined)
@ESMState.on(ev.QuestionAsked)
def _asked(state: ESMState, event: ev.RolloutsMined | ev.QuestionAsked, place: LogPlace) -> None:
    state.questions[event.example] = event.question


@ESMState.on(ev.ExampleEvaluated)
def _example(state: ESMState, event: ev.ExampleEvaluated, place: LogPlace) -> None:
    state.questions[event.example] = event.question
    method, example = state.names[event.method], state.names[event.example]
    greedy = event.method == GREEDY
    compared = state.steered if greedy else (method,)  # some may have answered it before greedy did
    outcomes, row = state.outcomes, state.outcomes.row(event, *place)
    if not outcomes.add(*row):
        if (at := outcomes.conflicting_row(*row)) is None:
            return
        for other in compared:
            _compare(state, other, example, by=-1)
        outcomes.put(at, *row[1:])
    if greedy:
        state.greedy_texts[event.example] = event.text
    else:
        state.steered[method] = None
    for other in compared:
        _compare(state, other, example)


def _compare(state: ESMState, method: int, example: int, by: int = 1) -> None:
    """Where a method's answer left greedy's way, and which entry turned it; nothing before both are known. `by` -1
    takes back what was reported of it."""
    if by < 0:
        state.outcomes.detach()
    sign = state.outcomes.against_greedy(method, example)
    greedy = state.greedy_texts.get(state.names.texts[example])
    if sign is None or not greedy:
        return
    chain = state.decisions.chain(method, example)
    left = state.decisions.first_difference(chain, greedy) if by > 0 else state.outcomes.left(method, example)
    state.outcomes.leaves(method, example, left if by > 0 else 0)
    if sign and left and state.names.texts[method] == METHOD:
        chosen = state.decisions.column("chosen")[chain[left - 1]]
        if chosen != NULL:
            entry = state.names.texts[chosen]
            state.ledger[entry] = state.ledger.get(entry, UNUSED).turned(sign, by)


@ESMState.on(ev.MethodEvaluated)
def _method(state: ESMState, event: ev.MethodEvaluated, place: LogPlace) -> None:
    before = state.running.get(event.method)
    if before and not event.tokens_per_second:  # a resume decodes nothing of a method that is done
        event = replace(event, tokens_per_second=before.tokens_per_second)
    state.running[event.method] = event
    if event.final:
        state.final[event.method] = event
    curve = state.curves.setdefault(event.method, AppendOnlyList())
    curve.append(CurvePoint(event.n, event.accuracy), key=event.n)
