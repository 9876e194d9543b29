"""Classes of a user, as the protocols describe them."""

from __future__ import annotations

from engine.evolution.judges.judge import JudgeFailed, Verdict
from engine.slsm.controllers.controller import Detection, Update
from engine.slsm.controllers.diff import Change, StateDiff, apply_diff
from engine.slsm.judges.judge import AnswerVerdict
from engine.slsm.state import Fact, Plan, SemanticState


class Judge:
    name = "my judge"

    def judge(self, question, golds, answer):
        if not golds:
            raise JudgeFailed(what="nothing to compare with")
        return Verdict(any(gold in answer for gold in golds), "compared")

    def cannot_tell(self, question, golds):
        return ""


class AnswerJudge:
    name = "blue"

    def judge(self, criterion, answer):
        return AnswerVerdict(("blue" in answer) == (criterion.pass_criteria == "YES"), "blue or not")


class Controller:
    name = "one fact a turn"

    def update(self, state, turns):
        if not isinstance(state, SemanticState):
            return Update(state.model_copy(update={"memory_text": turns[-1].user[:100]}))
        fact = Fact(id=f"F{len(state.facts) + 1}", text=f"message {len(turns)}", evidence=turns[-1].user)
        diff = StateDiff((Change("added", "facts", fact),), Plan(mode="verify"))
        return Update(apply_diff(state, diff), diff)

    def detect(self, state, turns, answer):
        return Detection()


class Reader:
    name = "mine"

    def count_tokens(self, text):
        return len(text.split())

    def read(self, prompts, checkpoint):
        checkpoint()
        return ["\n".join(triple.tail for triple in prompt.triples) or "unknown" for prompt in prompts]


class NoJudge:
    name = "none"


class NotMade:
    def __init__(self):
        raise ValueError("no")
