"""What the overview shows of ESM."""

from __future__ import annotations

from app.methods.esm.decisions import DECISIONS
from app.methods.esm.entries import hurting
from app.methods.esm.pairs import PAIRS
from app.methods.overview import Curve, Highlight, Overview, running_means
from app.methods.place import Place
from app.state.run import RunState
from app.table.filter import quoted
from app.wording.text import counted
from engine.events import MethodEvaluated, Verdict


def curve(state: RunState) -> Curve:
    """The accuracy of the memory; of greedy, which is answered first, until there is any. After each answer: methods
    report theirs after batches of different sizes."""
    esm, greedy = _so_far(state, "esm"), _so_far(state, "greedy")
    if not esm:
        return Curve("accuracy so far", "the problems", "greedy", greedy)
    return Curve("accuracy so far", "the problems", "ESM", esm, "greedy", greedy)


def _so_far(state: RunState, method: str) -> tuple[float, ...]:
    outcomes, number = state.esm.outcomes, state.esm.names.get(method)
    methods, right = outcomes.column("method"), outcomes.column("correct")
    return running_means(right[row] for row in range(len(outcomes)) if methods[row] == number)


def verdict_so_far(state: RunState) -> Verdict | None:
    """By the newest paired figures."""
    row = _newest(state)
    if row is None or row.difference is None or row.low is None or row.high is None:
        return None
    return Verdict(
        method="esm", baseline="greedy", metric="accuracy", items="problems", n=row.n, value=row.accuracy,
        baseline_value=row.accuracy - row.difference, difference=row.difference, low=row.low, high=row.high,
        fixed=row.fixed, broken=row.broken,
    )  # fmt: skip


def highlights(state: RunState) -> list[Highlight]:
    """Answers that steering turned, each by the decision in which it left greedy's way; the entry that hurt most, the
    comparison."""
    row = _newest(state)
    places: list[Highlight] = []
    if row is not None and row.broken:
        text = f"{counted(row.broken, 'answers')} that greedy has right and steering broke"
        places.append(Highlight(text, Place(DECISIONS.name, filter="method:esm broken left")))
    if worst := hurting(state.esm):
        name, wrong = state.esm.entry_name(worst[0]), state.esm.ledger[worst[0]].wrong
        text = f"the entry that hurt most: {name}, which turned {counted(wrong, 'answers')} wrong"
        decisions = f"method:esm chosen:{quoted(name)} broken left"
        places.append(Highlight(text, Place(DECISIONS.name, filter=decisions)))
    if row is not None and row.fixed:
        text = f"{counted(row.fixed, 'answers')} that greedy has wrong and steering turned right"
        places.append(Highlight(text, Place(DECISIONS.name, filter="method:esm fixed left")))
    if row is None and len(state.esm.pairs):
        text = f"{counted(len(state.esm.pairs), 'pairs')} of a right and a wrong text so far"
        places.append(Highlight(text, Place(PAIRS.name)))
    if len(state.esm.methods) > 2:
        places.append(Highlight("each method and ablation beside greedy", Place("results")))
    return places


def _newest(state: RunState) -> MethodEvaluated | None:
    return state.esm.final.get("esm") or state.esm.running.get("esm")


OVERVIEW = Overview(curve, highlights, verdict_so_far)
