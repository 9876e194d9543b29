"""SLSM: the answers in conversations with their memory and notes, and the modes of giving notes."""

from __future__ import annotations

from app.blocks.block import Block, Picture, Target
from app.methods.page import Chart, MethodPage
from app.methods.place import Place
from app.methods.slsm import results
from app.methods.slsm.answers import ANSWERS, answer_target
from app.methods.slsm.overview import OVERVIEW
from app.methods.slsm.what_if import WHAT_IF
from app.state.run import RunState


class SLSMPage(MethodPage):
    title = "SLSM"
    about = "Keeps notes on a conversation, and reminds the model when its answer goes against them."
    help = """\
# SLSM: memory notes

A controller reads the conversation turn by turn and keeps what matters: facts, standing instructions, the latest
version of what is edited. A mode decides whether a note with it is put after the user's last message:
*never*, *on_risk* (the plan is to verify or to clarify), *always*, or *on_detection*: the first answer gets no note,
and only if it contradicts the memory is the model asked again with one. *baseline* has no controller.

*Cases* has a row for every answer. On top of a case stand the answer without a controller, the note and the answer
under it: ▲ the note turned it right, ▼ wrong; `d` goes to the next such answer. The line below leads to the answers of
the other modes. Then the conversation and its memory after the turn that ▶ marks: `(` and `)` go to other turns;
+ is new, ~ changed, − resolved in that turn, and the words that an item rests on stand out. Below are the exact note or
why there was none, the answers beside each other, the verdict and the cost. `w` answers again under another note, an
edited one, or none.
*Results* compares scores and costs of the modes; counts of *fixed* and *broke* lead to the first such conversation.
*Talk* is your own conversation with this run's model; `F2` and `F3` choose mode and memory, `F4` starts anew.
"""
    shown_by = {"slsm": "answers"}
    cases = (ANSWERS,)
    what_if = WHAT_IF
    overview = OVERVIEW
    result_charts = (Chart("answers that pass so far, share", "answers judged", results.course),)

    def results(self, state: RunState) -> list[Block]:
        return results.scores(state.slsm)

    def more_results(self, state: RunState) -> list[Block]:
        return results.details(state.slsm)

    def pictures(self, state: RunState) -> list[Picture]:
        return results.score_picture(state.slsm)

    def place_of(self, target: Target, state: RunState) -> Place | None:
        """An `answer` by mode, memory, attempt, conversation; or the first that mode and memory `fixed` or `broke`."""
        if target.kind == "answer":
            rows = [at for at, row in enumerate(state.slsm.results) if answer_target(row) == target]
        else:
            mode, memory = target.name.split(" ")
            right, wrong = state.slsm.turned(mode, "baseline", memory)
            rows = right if target.kind == "fixed" else wrong
        return Place(ANSWERS.name, rows[0], open=True) if rows else None
