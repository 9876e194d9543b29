"""What the overview shows of ESM."""

from __future__ import annotations

from collections import Counter

from app.methods.esm.decisions import DECISIONS
from app.methods.esm.pairs import PAIRS
from app.methods.overview import Curve, Highlight, Overview
from app.methods.place import Place
from app.state.decisions import NULL
from app.state.run import RunState
from app.table.filter import quoted
from app.wording.text import counted
from engine.events import MethodEvaluated, Verdict

_SEARCHED = 200_000
"""Decisions up to which the memory's entries are counted: beyond, it would be felt."""


def curve(state: RunState) -> Curve:
    """The accuracy of the memory; of greedy, which is answered first, until there is any."""
    esm, greedy = (tuple(p.accuracy for p in state.esm.curves.get(name, ())) for name in ("esm", "greedy"))
    if not esm:
        return Curve("accuracy so far", "the problems", "greedy", greedy)
    return Curve("accuracy so far", "the problems", "ESM", esm, "greedy", greedy)


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
    """Answers that steering turned, the entry that hurt most, the comparison."""
    row = _newest(state)
    places: list[Highlight] = []
    if row is not None and row.broken:
        text = f"{counted(row.broken, 'answers')} that greedy has right and steering broke"
        places.append(Highlight(text, Place(DECISIONS.name, filter="method:esm broken")))
    if (worst := _worst_entry(state)) is not None:
        entry, broken = worst
        text = f"the entry that hurt most: {entry}, injected in {counted(broken, 'broken answers')}"
        place = Place(DECISIONS.name, filter=f"method:esm chosen:{quoted(entry)} broken")
        places.append(Highlight(text, place))
    if row is not None and row.fixed:
        text = f"{counted(row.fixed, 'answers')} that greedy has wrong and steering turned right"
        places.append(Highlight(text, Place(DECISIONS.name, filter="method:esm fixed steered")))
    if row is None and len(state.esm.pairs):
        text = f"{counted(len(state.esm.pairs), 'pairs')} of a right and a wrong text so far"
        places.append(Highlight(text, Place(PAIRS.name)))
    if len(state.esm.methods) > 2:
        places.append(Highlight("each method and ablation beside greedy", Place("results")))
    return places


def _newest(state: RunState) -> MethodEvaluated | None:
    return state.esm.final.get("esm") or state.esm.running.get("esm")


def _worst_entry(state: RunState) -> tuple[str, int] | None:
    """The name of the entry that was injected in the most answers which steering broke, and in how many."""
    decisions, esm = state.esm.decisions, state.esm.names.find("esm")
    if esm is None or "esm" not in state.esm.final or len(decisions) > _SEARCHED:
        return None
    methods, examples, chosen = (decisions.column(name) for name in ("method", "example", "chosen"))
    used = {
        (chosen[i], examples[i]) for i in range(len(decisions)) if methods[i] == esm and chosen[i] != NULL
    }
    hurt = Counter(entry for entry, example in used if state.esm.outcomes.against_greedy(esm, example) == -1)
    if not hurt:
        return None
    entry, count = max(hurt.items(), key=lambda item: (item[1], -item[0]))
    return state.esm.entry_name(state.esm.names.texts[entry]), count


OVERVIEW = Overview(curve, highlights, verdict_so_far)
