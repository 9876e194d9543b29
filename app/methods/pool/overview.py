"""What the overview shows of demonstrations."""

from __future__ import annotations

from app.methods.overview import Curve, Highlight, Overview, running_means
from app.methods.place import Place
from app.methods.pool.picks import PICKS
from app.methods.pool.queries import QUERIES
from app.state.run import RunState
from app.wording.text import counted


def curve(state: RunState) -> Curve:
    """The selector's held-out score; before there is one, the pools'."""
    scores = tuple(step.heldout_accuracy for step in state.pool.steps if step.heldout_accuracy is not None)
    if scores:
        rices = state.pool.compared.get("rices")
        level = () if rices is None else (rices.accuracy,)
        return Curve("held-out score", "the steps", "selector", scores, "similarity", level)
    after, before = (
        running_means(getattr(row, name) for row in state.pool.queries) for name in ("after", "before")
    )
    return Curve("score of the best pair so far", "the queries", "pool", after, "as given", before)


def highlights(state: RunState) -> list[Highlight]:
    """Queries on which the selector is worse, queries with a warning, the training."""
    places: list[Highlight] = []
    worse = [at for at, row in enumerate(state.pool.picks) if row.sign("selector") < 0]
    if worse:
        text = f"{counted(len(worse), 'queries')} on which similarity picks a better pair than the selector"
        places.append(Highlight(text, Place(PICKS.name, worse[0])))
    warned = [(at, row.query_id) for at, row in enumerate(state.pool.queries) if row.warning]
    if warned:
        at, first = warned[0]
        text = f"{counted(len(warned), 'queries')} with a warning, first {first}"
        places.append(Highlight(text, Place(QUERIES.name, at)))
    if state.pool.steps:
        places.append(Highlight("the selector's training, beside its baselines", Place("training")))
    return places


OVERVIEW = Overview(curve, highlights)
