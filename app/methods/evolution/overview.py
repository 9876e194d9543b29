"""What the overview shows of an evolution."""

from __future__ import annotations

from app.methods.evolution.answers import ANSWERS
from app.methods.evolution.iterations import ITERATIONS
from app.methods.evolution.results import untested
from app.methods.overview import Curve, Highlight, Overview
from app.methods.place import Place
from app.state.run import RunState
from app.wording.figures import fixed


def curve(state: RunState) -> Curve:
    """The length of the answers of each iteration's minibatch, which is not that of the verdict; with the unchanged
    model's as a level: on the test set once there is one."""
    scores = [item.minibatch for item in state.evolution.iterations.values() if item.minibatch is not None]
    tokens = tuple(score.mean_tokens for score in scores)
    tested = state.evolution.compared.get("no_processor")
    plain, name = tested or state.evolution.baseline, "unchanged" + ", test set" * (tested is not None)
    level = () if plain is None else (plain.mean_tokens,)
    return Curve("tokens of an answer, minibatch", "the iterations", "minibatch", tokens, name, level, 1)


def highlights(state: RunState) -> list[Highlight]:
    """The best iteration, the course of the deltas, the answers."""
    places: list[Highlight] = []
    if (best := state.evolution.best) is not None:
        score = state.evolution.deciding(best)
        by = "" if score is None else f", composite {fixed(score.composite)} on {state.evolution.decided_on}"
        place = Place(ITERATIONS.name, list(state.evolution.iterations).index(best.iteration), open=True)
        places.append(Highlight(f"iteration {best.iteration}: the best deltas{by}", place))
    if len(state.evolution.iterations) > 1:
        places.append(Highlight("how every cluster was raised and lowered", Place("training")))
    if len(state.evolution.answers):
        text = "the answers beside the unchanged model's, in the colours of their clusters"
        places.append(Highlight(text, Place(ANSWERS.name)))
    return places


OVERVIEW = Overview(curve, highlights, untested=lambda state: untested(state.evolution))
