"""What the overview shows of demonstrations."""

from __future__ import annotations

from app.methods.overview import Curve, Highlight, Overview, first_of, running_means
from app.methods.place import Place
from app.methods.pool.picks import PICKS
from app.methods.pool.queries import QUERIES
from app.state.run import RunState


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
    worse = "on which similarity picks a better pair than the selector"
    places = [
        *first_of(PICKS, state, lambda row: row.sign("selector") < 0, "queries", worse),
        *first_of(QUERIES, state, lambda row: bool(row.warning), "queries", "with a warning"),
    ]
    if state.pool.steps:
        places.append(Highlight("the selector's training, beside its baselines", Place("training")))
    return places


OVERVIEW = Overview(curve, highlights)
