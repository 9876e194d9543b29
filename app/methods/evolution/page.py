"""Evolution: its iterations and answers, the comparison on the test set, the course of the deltas."""

from __future__ import annotations

from app.methods.evolution import results, training
from app.methods.evolution.answers import ANSWERS, is_of
from app.methods.evolution.iterations import ITERATIONS
from app.methods.evolution.overview import OVERVIEW
from app.methods.evolution.what_if import WHAT_IF
from app.methods.page import Chart, MethodPage, first_row

PAGE = MethodPage(
    title="Evolution",
    about="Raises and lowers groups of words, step by step, so that answers get shorter and stay right.",
    help="""\
# Evolution of cluster deltas

Every token of the vocabulary belongs to a cluster; a delta is added to the logits of all tokens of its cluster. Each
iteration answers a minibatch of questions under the current deltas, judges the answers, and shows them to the
reflector, which proposes new deltas. *Composite* is 0.4 · shortness + 0.6 · correctness. The iteration with the highest
composite so far is kept as best (★): by its own minibatch, or, with `best_by: validation`, by a fixed validation set on
which deltas that look better are tried.

*Cases: iterations* has a row for each iteration: what it gained over the best before it, why it has these deltas, its
scores, each cluster's delta before and here, the reflector's reply and the iteration that tries it. `S` stops at once,
*Stop after* in the palette (`^p`) when the iteration is finished; finished answers are kept and not asked for again.
*Cases: answers* has every answer with the judge's reasoning, beside the unchanged model's answer to the same question;
the tokens have the colour of their cluster. ▲ is right where the unchanged model is wrong, ▼ the other way round. `w`
answers the question again under other deltas.
*Results*: with a test set the best deltas are compared with no processor, with length caps and with a request for short
answers, on questions that decided nothing. Without one nothing is compared. Replies of the reflector that could not be
used are counted there by what was wrong.
*Training* charts scores and lengths by iteration and has all deltas: the higher the block, the stronger the delta.
""",
    shown_by={"clusters": "training", "evolve": "iterations"},
    cases=(ITERATIONS, ANSWERS),
    what_if=WHAT_IF,
    overview=OVERVIEW,
    results=lambda state: results.compared(state.evolution),
    more_results=lambda state: results.details(state.evolution),
    training=lambda state: training.course(state.evolution),
    training_charts=(
        Chart("scores of the answers, 0 to 1", "iteration", training.scores),
        Chart("length of an answer, tokens", "iteration", training.lengths),
    ),
    pictures=lambda state: results.tokens_picture(state.evolution),
    links={
        "iteration": first_row(ITERATIONS, lambda row, name: row.iteration == int(name)),
        "answers": first_row(ANSWERS, lambda row, name: is_of(row, int(name)), opened=False),
        "right": first_row(ANSWERS, lambda row, name: is_of(row, int(name)) and row.turned == 1),
        "wrong": first_row(ANSWERS, lambda row, name: is_of(row, int(name)) and row.turned == -1),
    },
)
