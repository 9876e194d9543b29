"""Classes of a user: one for each role that does it right, and many that do not."""

from __future__ import annotations

import sys

from engine.slsm.controllers.diff import Change, StateDiff
from engine.slsm.state import Fact, Plan, SemanticState


class Judge:
    name = "my judge"

    def judge(self, question, golds, answer):
        return any(gold in answer for gold in golds) if golds else None

    def cannot_tell(self, question, golds):
        return "" if golds else "there is no gold answer"


class Reflector:
    def reflect(self, given, message):
        return {cluster: delta - 0.5 for cluster, delta in given.deltas.items()}


class AnswerJudge:
    def judge(self, criterion, answer):
        return ("blue" in answer) == (criterion.pass_criteria == "YES")


class Controller:
    def update(self, state, turns):
        if not isinstance(state, SemanticState):
            from engine.slsm.controllers.controller import Update

            return Update(state.model_copy(update={"memory_text": turns[-1].user[:100]}))
        number = len(state.facts) + 1
        fact = Fact(id=f"F{number}", text=f"message {len(turns)}", evidence=turns[-1].user)
        return StateDiff((Change("added", "facts", fact),), Plan(mode="verify"))


class Reader:
    def read(self, prompts, checkpoint):
        checkpoint()
        return ["\n".join(triple.tail for triple in prompt.triples) or "unknown" for prompt in prompts]


class Raises(Judge):
    def judge(self, question, golds, answer):
        return answer.split()[0] == "42"


class Quits(Judge):
    def judge(self, question, golds, answer):
        sys.exit(3)


class NoJudge:
    pass


class FewDeltas(Reflector):
    def reflect(self, given, message):
        return {"0": float("nan")}


class TwiceTheSame(Controller):
    def update(self, state, turns):
        fact = Fact(id="F1", text="a")
        return StateDiff((Change("added", "facts", fact), Change("added", "facts", fact)))


class FewTexts(Reader):
    def read(self, prompts, checkpoint):
        return ["one"]
