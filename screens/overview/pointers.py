"""What is worth opening in a run: at most three places a method, each said in a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from app.state.decisions import NULL
from app.state.run import RunState
from app.state.slsm import ResultRow, SLSMState
from app.text import counted
from app.verdict_text import verdicts
from screens.place import Place

MOST = 3
_SEARCHED = 200_000
"""Decisions up to which the memory's entries are counted: beyond, it would be felt."""


@dataclass(frozen=True)
class Pointer:
    """`text`: what is to be seen at the place."""

    text: str
    place: Place


def pointers(state: RunState, method: str) -> list[Pointer]:
    """Those of a method, by its title; the most telling first."""
    find = _FIND.get(method)
    return find(state)[:MOST] if find is not None else []


# ---------------------------------------------------------------- ESM


def _esm(state: RunState) -> list[Pointer]:
    row = state.esm.final.get("esm") or state.esm.running.get("esm")
    found: list[Pointer] = []
    if row is not None and row.broken:
        text = f"{counted(row.broken, 'answers')} that greedy has right and steering broke"
        found.append(Pointer(text, Place("decisions-pane", filter="method:esm broken")))
    if (worst := _worst_entry(state)) is not None:
        entry, broken = worst
        text = f"the entry that hurt most: {entry}, injected in {counted(broken, 'broken answers')}"
        found.append(Pointer(text, Place("decisions-pane", filter=f"method:esm chosen:{entry} broken")))
    if row is not None and row.fixed:
        text = f"{counted(row.fixed, 'answers')} that greedy has wrong and steering turned right"
        found.append(Pointer(text, Place("decisions-pane", filter="method:esm fixed steered")))
    if row is None and len(state.esm.pairs):
        text = f"{counted(len(state.esm.pairs), 'pairs')} of a right and a wrong text so far"
        found.append(Pointer(text, Place("pairs-pane")))
    if len(state.esm.methods) > 2:
        found.append(Pointer("each method and ablation beside greedy", Place("results-pane")))
    return found


def _worst_entry(state: RunState) -> tuple[str, int] | None:
    """The entry that was injected in the most answers which steering broke, and in how many."""
    decisions, outcomes = state.esm.decisions, state.esm.outcomes
    esm = state.esm.names.find("esm")
    if esm is None or "esm" not in state.esm.final or len(decisions) > _SEARCHED:
        return None
    methods, examples, chosen = (decisions.column(name) for name in ("method", "example", "chosen"))
    used = {
        (chosen[i], examples[i]) for i in range(len(decisions)) if methods[i] == esm and chosen[i] != NULL
    }
    hurt = Counter(entry for entry, example in used if outcomes.against_greedy(esm, example) == -1)
    if not hurt:
        return None
    entry, count = max(hurt.items(), key=lambda item: (item[1], -item[0]))
    return state.esm.names.texts[entry], count


# ---------------------------------------------------------------- the other methods


def _evolution(state: RunState) -> list[Pointer]:
    evolution, found = state.evolution, []
    if (best := evolution.best) is not None:
        number = best.iteration
        score = best.validation
        told = f", composite {score.composite:.3f} on the validation set" if score is not None else ""
        place = Place("iterations-pane", row=lambda item: item.iteration == number, open=True)
        found.append(Pointer(f"iteration {number}: the best deltas{told}", place))
    if len(evolution.iterations) > 1:
        found.append(Pointer("how every cluster was raised and lowered", Place("deltas-pane")))
    if len(evolution.answers):
        found.append(Pointer("the longest answers, in the colours of their clusters", Place("answers-pane")))
    return found


def _gflownet(state: RunState) -> list[Pointer]:
    found: list[Pointer] = []
    missed = [row for row in state.gflownet.questions if row.answers and not row.met]
    if missed:
        first = missed[0].sample_id
        place = Place("questions-pane", row=lambda row: row.sample_id == first)
        found.append(Pointer(f"{counted(len(missed), 'questions')} of which no path meets an answer", place))
    hits = {(row.sample_id, row.method): row.hit for row in state.gflownet.answers}
    lost = [
        s
        for (s, method), hit in hits.items()
        if method == "gflownet" and not hit and hits.get((s, "triples"))
    ]
    if lost:
        sample = lost[0]
        place = Place("evidence-answers-pane", row=lambda pair: pair.sample_id == sample)
        text = f"{counted(len(lost), 'questions')} answered right from triples and wrong from paths"
        found.append(Pointer(text, place))
    if len(state.gflownet.steps):
        found.append(Pointer("the training, and how far it is from sampling by reward", Place("steps-pane")))
    if state.gflownet.test:
        found.append(Pointer("the sampler beside beam search, figure by figure", Place("methods-pane")))
    return found


def _slsm(state: RunState) -> list[Pointer]:
    found: list[Pointer] = []
    stated = verdicts(state.stages, SLSMState.stages_shown)
    mode, baseline = (stated[-1].method, stated[-1].baseline) if stated else ("on_detection", "baseline")
    noted, plain = _variant(state.slsm, mode), _variant(state.slsm, baseline)
    for passed, words in ((False, "that a note broke"), (True, "that a note turned right")):
        rows = [
            row
            for key, row in noted.items()
            if row.injected and row.passed is passed and key in plain and plain[key].passed is (not passed)
        ]
        if rows:
            wanted = rows[0].place
            place = Place("conversations-pane", row=lambda row, wanted=wanted: row.place == wanted)
            found.append(
                Pointer(f"{counted(len(rows), 'answers')} {words} ({mode.replace('_', ' ')})", place)
            )
    if state.slsm.modes:
        found.append(Pointer("every mode with its score and its cost", Place("modes-pane")))
    return found


def _variant(state: SLSMState, mode: str) -> dict[tuple[str, int], ResultRow]:
    """The answers of a mode by conversation and attempt; of two kinds of memory those of the first, as in the
    verdict."""
    rows = [row for row in state.results if row.mode == mode]
    return {(row.conversation_id, row.attempt): row for row in rows if row.memory_mode == rows[0].memory_mode}


def _pool(state: RunState) -> list[Pointer]:
    found: list[Pointer] = []
    worse = [
        row
        for row in state.pool.picks
        if row.selector is not None and row.rices is not None and row.selector < row.rices
    ]
    if worse:
        query = worse[0].query_id
        place = Place("pool-picks-pane", row=lambda row: row.query_id == query)
        text = f"{counted(len(worse), 'queries')} on which similarity picks a better pair than the selector"
        found.append(Pointer(text, place))
    warned = [row for row in state.pool.queries if row.warning]
    if warned:
        first = warned[0].query_id
        place = Place("pool-queries-pane", row=lambda row: row.query_id == first)
        found.append(Pointer(f"{counted(len(warned), 'queries')} with a warning, first {first}", place))
    if state.pool.steps:
        found.append(Pointer("the selector's training, beside its baselines", Place("pool-selector-pane")))
    return found


_FIND: dict[str, Callable[[RunState], list[Pointer]]] = {
    "ESM": _esm,
    "Evolution": _evolution,
    "GFlowNet": _gflownet,
    "SLSM": _slsm,
    "Pool": _pool,
}
