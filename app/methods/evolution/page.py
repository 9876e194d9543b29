"""Evolution: its iterations and answers, the comparison on the test set, the course of the deltas."""

from __future__ import annotations

from app.blocks.block import Block, Picture, Target
from app.methods.evolution import results, training
from app.methods.evolution.answers import ANSWERS, answers_of
from app.methods.evolution.iterations import ITERATIONS, iteration_rows
from app.methods.evolution.overview import OVERVIEW
from app.methods.evolution.what_if import WHAT_IF
from app.methods.page import Chart, MethodPage
from app.methods.place import Place
from app.state.run import RunState

_TURNED = {"right": 1, "wrong": -1}


class EvolutionPage(MethodPage):
    title = "Evolution"
    about = "Raises and lowers groups of words, step by step, so that answers get shorter and stay right."
    help = """\
# Evolution of cluster deltas

Every token of the vocabulary belongs to a cluster; a delta is added to the logits of all tokens of its cluster. Each
iteration answers a minibatch of questions under the current deltas, judges the answers, and shows them to the
reflector, which proposes new deltas. *Composite* is 0.4 · shortness + 0.6 · correctness. The iteration with the highest
composite so far is kept as best (★): by its own minibatch, or, with `best_by: validation`, by a fixed validation set on
which deltas that look better are tried.

*Cases: iterations* has a row for each iteration: what it gained over the best before it, why it has these deltas, its
scores, each cluster's delta before, here and next, the reflector's reply and what came of it. `b` starts a new run from
its deltas, after it has asked how many iterations shall follow; this run is not changed. `S` stops at once, *Stop
after* in the palette (`^p`) when the iteration is finished; answers that were given are kept and not asked for again.
*Cases: answers* has every answer with the judge's reasoning, beside the unchanged model's answer to the same question;
the tokens have the colour of their cluster. ▲ is right where the unchanged model is wrong, ▼ the other way round. `w`
answers the question again under other deltas.
*Results*: with a test set the best deltas are compared with no processor, with length caps and with a request for short
answers, on questions that decided nothing. Without one nothing is compared. Replies of the reflector that could not be
used are counted there by what was wrong.
*Training* charts scores and lengths by iteration and has all deltas: the higher the block, the stronger the delta.
"""
    shown_by = {"clusters": "training", "evolve": "iterations"}
    cases = (ITERATIONS, ANSWERS)
    what_if = WHAT_IF
    overview = OVERVIEW
    training_charts = (
        Chart("scores of the answers, 0 to 1", "iteration", training.scores),
        Chart("length of an answer, tokens", "iteration", training.lengths),
    )

    def results(self, state: RunState) -> list[Block]:
        return results.compared(state.evolution)

    def more_results(self, state: RunState) -> list[Block]:
        return results.details(state.evolution)

    def training(self, state: RunState) -> list[Block]:
        return training.course(state.evolution)

    def pictures(self, state: RunState) -> list[Picture]:
        return results.tokens_picture(state.evolution)

    def place_of(self, target: Target, state: RunState) -> Place | None:
        """An `iteration`, its first of all `answers`, or the first that its deltas turned `right` or `wrong`."""
        number = int(target.name)
        if target.kind == "iteration":
            rows = [at for at, row in enumerate(iteration_rows(state)) if row.item.iteration == number]
            return Place(ITERATIONS.name, rows[0], open=True) if rows else None
        sign = _TURNED.get(target.kind)
        answers = state.evolution.answers
        rows = [at for at in answers_of(state.evolution, number) if sign in (None, answers[at].turned)]
        return Place(ANSWERS.name, rows[0], open=sign is not None) if rows else None
