"""What the overview shows of the sampler of evidence paths."""

from __future__ import annotations

from app.methods.chart import with_mean
from app.methods.gflownet.questions import QUESTIONS
from app.methods.overview import Curve, Highlight, Overview, first_of, running_means
from app.methods.place import Place
from app.state.run import RunState


def curve(state: RunState) -> Curve:
    """The reader's answers; before there are any, the training."""
    paths, triples = (
        running_means(row.hit for row in state.gflownet.answers if row.method == method)
        for method in ("gflownet", "triples")
    )
    if paths:
        return Curve("right so far", "the questions", "GFlowNet", paths, "triples", triples)
    success = with_mean(
        "paths that meet an answer", [], [step.success_mean for step in state.gflownet.steps]
    )[-1]
    return Curve(success.label, "the steps", "GFlowNet", tuple(success.y))


def highlights(state: RunState) -> list[Highlight]:
    """Questions that went wrong, the training, the comparison."""
    lost = "answered right from triples and wrong from paths"
    places = [
        *first_of(QUESTIONS, state, lambda row: row.missed, "questions", "of which no path meets an answer"),
        *first_of(QUESTIONS, state, lambda row: row.sign < 0, "questions", lost),
    ]
    if len(state.gflownet.steps):
        places.append(Highlight("the training, and how far it is from sampling by reward", Place("training")))
    if state.gflownet.test:
        places.append(Highlight("the sampler beside beam search, figure by figure", Place("results")))
    return places


OVERVIEW = Overview(curve, highlights)
