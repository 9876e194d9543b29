"""GFlowNet: questions with sampled paths and answers from them, the sampler beside simpler methods, its training."""

from __future__ import annotations

from app.methods.gflownet import results, training
from app.methods.gflownet.overview import OVERVIEW
from app.methods.gflownet.questions import QUESTIONS
from app.methods.gflownet.what_if import WHAT_IF
from app.methods.page import Chart, MethodPage, first_row
from app.methods.place import Place
from engine.events import SamplerStep

PAGE = MethodPage(
    title="GFlowNet",
    about="Learns to walk a knowledge graph, and gives the paths to the model as evidence.",
    help="""\
# GFlowNet: evidence paths

A sampler walks from a question's entities along edges of its graph and may stop at any time. It is trained so that P_F,
the probability of a path, is in proportion to R · P_B: R, the reward, is 1 for a path that meets an answer, 0.001 for
others. On every path of a perfect sampler δ = log Z + log P_F − log P_B − log R is zero.

*Cases* has a row for each held-out question. A case has what the reader answered from sampled paths and, at the same
token budget, from the best-scored triples (▲ right from paths only, ▼ from triples only); its paths: the answers that
they meet, how often one was drawn, probability and reward (thick lines lie on a shortest path); then the prompts. Of a
question that no path answers it says how many paths left the shortest ones, at which step and by which relation; ≠
marks the place. Paths are drawn without replacement, or each for itself. `d` goes to the next question without a hit,
or whose answers differ; `w` draws a question's paths again at another temperature, with another prior or draw.
*Results* compares the reader's answers, and the paths with those of simpler methods: *distinct paths* and *independent
draws* are the trained sampler. TV is how far P_F is from R: 1 at most, 0 where it is perfect and P_B = 1. *Training*
charts the loss, δ with its quantiles, and how many samples meet an answer; below stand some steps, and what each stage
kept of the data.
""",
    shown_by={
        **dict.fromkeys(("graphs", "retriever", "agent-graphs", "gflownet"), "training"),
        "answer": "questions",
    },
    cases=(QUESTIONS,),
    what_if=WHAT_IF,
    overview=OVERVIEW,
    results=lambda state: [*results.answered(state.gflownet), *results.sampled(state.gflownet)],
    more_results=lambda state: results.coverage(state.gflownet),
    result_charts=(
        Chart("answers that the first K paths meet, share", "K, paths of a question", results.reached_by_k),
    ),
    training=lambda state: [*training.steps(state.gflownet), *training.data(state.gflownet)],
    training_charts=(
        Chart("loss", "step", training.loss_curve),
        Chart("residual δ and log Z, nats", "step", training.residual_curves),
        Chart("sampled paths that meet an answer, share", "step", training.success_curves),
    ),
    pictures=lambda state: results.pictures(state.gflownet),
    links={
        "better": first_row(QUESTIONS, lambda row, name: row.sign == 1),
        "worse": first_row(QUESTIONS, lambda row, name: row.sign == -1),
    },
    event_places={SamplerStep: lambda event: Place("training")},
)
