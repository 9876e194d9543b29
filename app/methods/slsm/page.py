"""SLSM: the answers in conversations with their memory and notes, and the modes of giving notes."""

from __future__ import annotations

from app.methods.page import Chart, MethodPage, first_row
from app.methods.slsm import results
from app.methods.slsm.answers import ANSWERS, answer_target, variant
from app.methods.slsm.overview import OVERVIEW
from app.methods.slsm.what_if import WHAT_IF

PAGE = MethodPage(
    title="SLSM",
    about="Keeps notes on a conversation, and reminds the model when its answer goes against them.",
    help="""\
# SLSM: memory notes

A controller reads the conversation turn by turn and keeps what matters: facts, standing instructions, the latest
version of what is edited. A mode decides whether a note with it is put after the user's last message:
*silent* (`never`), *on risk* (the plan is to verify or to clarify), *always*, or *on detection*: the first answer gets
no note, and only if it contradicts the memory is the model asked again with one. *no note* (`baseline`) is the model
without a controller.

*Cases* has a row for every answer. On top of a case stand the answer without a controller, the note and the answer
under it: ▲ the note turned it right, ▼ wrong; `d` goes to the next such answer. The line below leads to the answers of
the other modes. Then the conversation and its memory after the turn that ▶ marks: `(` and `)` go to other turns;
+ is new, ~ changed, − resolved in that turn, and the words that an item rests on stand out. Below are the exact note or
why there was none, the answers beside each other, the verdict and the cost. `w` answers again under another note, an
edited one, or none.
*Results* compares scores and costs of the modes; counts of *fixed* and *broke* lead to the first such conversation.
*Talk* is your own conversation with this run's model; `F2` and `F3` choose mode and memory, `F4` starts anew.
""",
    shown_by={"slsm": "answers"},
    cases=(ANSWERS,),
    what_if=WHAT_IF,
    overview=OVERVIEW,
    results=lambda state: results.scores(state.slsm),
    more_results=lambda state: results.details(state.slsm),
    result_charts=(Chart("answers that pass so far, share", "answers judged", results.course),),
    pictures=lambda state: results.score_picture(state.slsm),
    links={
        "answer": first_row(ANSWERS, lambda row, name: answer_target(row.result).name == name),
        "fixed": first_row(ANSWERS, lambda row, name: variant(row.result) == name and row.turned == 1),
        "broke": first_row(ANSWERS, lambda row, name: variant(row.result) == name and row.turned == -1),
    },
)
