"""What is worth opening in a run: at most three places a method, each said in a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from app.methods.place import Place
from app.state.decisions import NULL
from app.state.run import RunState
from app.state.slsm import SLSMState
from app.table.filter import quoted
from app.text import counted
from app.verdict_text import verdicts

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
        found.append(Pointer(text, Place("decisions", filter="method:esm broken")))
    if (worst := _worst_entry(state)) is not None:
        entry, broken = worst
        text = f"the entry that hurt most: {entry}, injected in {counted(broken, 'broken answers')}"
        place = Place("decisions", filter=f"method:esm chosen:{quoted(entry)} broken")
        found.append(Pointer(text, place))
    if row is not None and row.fixed:
        text = f"{counted(row.fixed, 'answers')} that greedy has wrong and steering turned right"
        found.append(Pointer(text, Place("decisions", filter="method:esm fixed steered")))
    if row is None and len(state.esm.pairs):
        text = f"{counted(len(state.esm.pairs), 'pairs')} of a right and a wrong text so far"
        found.append(Pointer(text, Place("pairs")))
    if len(state.esm.methods) > 2:
        found.append(Pointer("each method and ablation beside greedy", Place("results")))
    return found


def _worst_entry(state: RunState) -> tuple[str, int] | None:
    """The name of the entry that was injected in the most answers which steering broke, and in how many."""
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
    return state.esm.entry_name(state.esm.names.texts[entry]), count


# ---------------------------------------------------------------- the other methods


def _evolution(state: RunState) -> list[Pointer]:
    evolution, found = state.evolution, []
    if (best := evolution.best) is not None:
        score = evolution.deciding(best)
        told = f", composite {score.composite:.3f} on {evolution.decided_on}" if score is not None else ""
        place = Place("iterations", list(evolution.iterations).index(best.iteration), open=True)
        found.append(Pointer(f"iteration {best.iteration}: the best deltas{told}", place))
    if len(evolution.iterations) > 1:
        found.append(Pointer("how every cluster was raised and lowered", Place("training")))
    if len(evolution.answers):
        text = "the answers beside the unchanged model's, in the colours of their clusters"
        found.append(Pointer(text, Place("answers")))
    return found


def _gflownet(state: RunState) -> list[Pointer]:
    found: list[Pointer] = []
    missed = [at for at, row in enumerate(state.gflownet.questions) if row.answers and not row.met]
    if missed:
        text = f"{counted(len(missed), 'questions')} of which no path meets an answer"
        found.append(Pointer(text, Place("questions", missed[0])))
    hits = {(row.sample_id, row.method): row.hit for row in state.gflownet.answers}
    questions = list(dict.fromkeys(sample for sample, _ in hits))
    lost = [
        at
        for at, sample in enumerate(questions)
        if hits.get((sample, "gflownet")) is False and hits.get((sample, "triples"))
    ]
    if lost:
        text = f"{counted(len(lost), 'questions')} answered right from triples and wrong from paths"
        found.append(Pointer(text, Place("answers", lost[0])))
    if len(state.gflownet.steps):
        found.append(Pointer("the training, and how far it is from sampling by reward", Place("training")))
    if state.gflownet.test:
        found.append(Pointer("the sampler beside beam search, figure by figure", Place("results")))
    return found


def _slsm(state: RunState) -> list[Pointer]:
    found: list[Pointer] = []
    stated = verdicts(state.stages, SLSMState.stages_shown)
    mode, baseline = (stated[-1].method, stated[-1].baseline) if stated else ("on_detection", "baseline")
    right, wrong = state.slsm.turned(mode, baseline)
    for rows, words in ((wrong, "that a note broke"), (right, "that a note turned right")):
        if rows:
            text = f"{counted(len(rows), 'answers')} {words} ({mode.replace('_', ' ')})"
            found.append(Pointer(text, Place("answers", rows[0], open=True)))
    if state.slsm.modes:
        found.append(Pointer("every mode with its score and its cost", Place("results")))
    return found


def _pool(state: RunState) -> list[Pointer]:
    found: list[Pointer] = []
    worse = [at for at, row in enumerate(state.pool.picks) if row.sign("selector") < 0]
    if worse:
        text = f"{counted(len(worse), 'queries')} on which similarity picks a better pair than the selector"
        found.append(Pointer(text, Place("picks", worse[0])))
    warned = [(at, row) for at, row in enumerate(state.pool.queries) if row.warning]
    if warned:
        at, first = warned[0]
        text = f"{counted(len(warned), 'queries')} with a warning, first {first.query_id}"
        found.append(Pointer(text, Place("queries", at)))
    if state.pool.steps:
        found.append(Pointer("the selector's training, beside its baselines", Place("training")))
    return found


_FIND: dict[str, Callable[[RunState], list[Pointer]]] = {
    "ESM": _esm,
    "Evolution": _evolution,
    "GFlowNet": _gflownet,
    "SLSM": _slsm,
    "Pool": _pool,
}
