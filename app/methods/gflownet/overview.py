"""What the overview shows of the sampler of evidence paths."""

from __future__ import annotations

from app.methods.gflownet.answers import ANSWERS, answer_pairs
from app.methods.gflownet.questions import QUESTIONS
from app.methods.overview import Curve, Highlight, Overview, running_means
from app.methods.place import Place
from app.state.run import RunState
from app.wording.text import counted


def curve(state: RunState) -> Curve:
    """The reader's answers; before there are any, the training."""
    paths, triples = (
        running_means(row.hit for row in state.gflownet.answers if row.method == method)
        for method in ("gflownet", "triples")
    )
    if paths:
        return Curve("right so far", "the questions", "GFlowNet", paths, "triples", triples)
    steps = tuple(step.success_mean for step in state.gflownet.steps)
    return Curve("paths that meet an answer", "the steps", "GFlowNet", steps)


def highlights(state: RunState) -> list[Highlight]:
    """Questions that went wrong, the training, the comparison."""
    places: list[Highlight] = []
    missed = [at for at, row in enumerate(state.gflownet.questions) if row.answers and not row.met]
    if missed:
        text = f"{counted(len(missed), 'questions')} of which no path meets an answer"
        places.append(Highlight(text, Place(QUESTIONS.name, missed[0])))
    lost = [at for at, pair in enumerate(answer_pairs(state.gflownet)) if pair.sign < 0]
    if lost:
        text = f"{counted(len(lost), 'questions')} answered right from triples and wrong from paths"
        places.append(Highlight(text, Place(ANSWERS.name, lost[0])))
    if len(state.gflownet.steps):
        places.append(Highlight("the training, and how far it is from sampling by reward", Place("training")))
    if state.gflownet.test:
        places.append(Highlight("the sampler beside beam search, figure by figure", Place("results")))
    return places


OVERVIEW = Overview(curve, highlights)
