"""Judges and controllers of the user's own: `slsm.judge.kind` and `slsm.controller.kind` as `module:Class`. Several
threads may call one object.

What such a class raises or returns wrongly counts as a failure of the built-in ones does: the answer is left unjudged,
the update of the turn is lost and its reason told.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.own_class import Method, Role, make_own, misuse, name_of, shown, told
from engine.slsm.controllers.controller import Conflict, Detection, Update
from engine.slsm.controllers.diff import DiffRefused, StateDiff, apply_diff
from engine.slsm.judges.judge import AnswerJudgeFailed, AnswerVerdict
from engine.slsm.multichallenge import Criterion
from engine.slsm.state import SemanticState, State
from engine.slsm.turns import Turn

JUDGE = Role("slsm.judge.kind", (Method("judge", ("criterion", "answer")),))
CONTROLLER = Role(
    "slsm.controller.kind",
    (Method("update", ("state", "turns")), Method("detect", ("state", "turns", "answer"), required=False)),
)


class OwnAnswerJudge:
    """`judge(criterion: Criterion, answer: str)` returns whether the answer passes, True or False, or an
    AnswerVerdict."""

    def __init__(self, kind: str) -> None:
        self._kind, self._own = kind, make_own(kind, JUDGE)
        self.name = name_of(self._own, kind)

    def judge(self, criterion: Criterion, answer: str) -> AnswerVerdict:
        """Raises AnswerJudgeFailed."""
        try:
            said = self._own.judge(criterion, answer)
        except AnswerJudgeFailed:
            raise
        except BaseException as error:
            raise AnswerJudgeFailed(**misuse(self._kind, JUDGE, "judge", told(error))) from error
        verdict = AnswerVerdict(said, f"{self.name} says so") if isinstance(said, bool) else said
        if not isinstance(verdict, AnswerVerdict) or not isinstance(verdict.passed, bool):
            problem = f"it returned {shown(said)}, not True, False or an AnswerVerdict"
            raise AnswerJudgeFailed(**misuse(self._kind, JUDGE, "judge", problem))
        return verdict


class OwnController:
    """`update(state: State, turns: Sequence[Turn])` returns an Update or, of a structured state, a StateDiff.
    `detect(state, turns, answer)`, which may be left out, returns a Detection, or a list of Conflicts."""

    def __init__(self, kind: str) -> None:
        self._kind, self._own = kind, make_own(kind, CONTROLLER)
        self.name = name_of(self._own, kind)

    def update(self, state: State, turns: Sequence[Turn]) -> Update:
        """The earlier state with `failure` where the class fails."""
        try:
            said = self._own.update(state, turns)
            if isinstance(said, StateDiff) and isinstance(state, SemanticState):
                said = Update(apply_diff(state, said), said)
        except DiffRefused as error:
            return self._lost(state, f"its diff does not fit: {error}")
        except BaseException as error:
            return self._lost(state, told(error))
        if not isinstance(said, Update):
            return self._lost(state, f"it returned {shown(said)}, not an Update or a StateDiff")
        if type(said.state) is not type(state):
            return self._lost(
                state, f"it returned a {type(said.state).__name__} for a {type(state).__name__}"
            )
        return said

    def detect(self, state: State, turns: Sequence[Turn], answer: str) -> Detection:
        """No conflicts, with `failure`, where the class fails; none where it has no `detect`."""
        if not hasattr(self._own, "detect"):
            return Detection()
        try:
            said = self._own.detect(state, turns, answer)
        except BaseException as error:
            return Detection(failure=_failure(self._kind, "detect", told(error)))
        found = Detection(tuple(said)) if isinstance(said, list | tuple) else said
        if not isinstance(found, Detection) or not all(isinstance(one, Conflict) for one in found.conflicts):
            problem = f"it returned {shown(said)}, not a Detection or Conflicts"
            return Detection(failure=_failure(self._kind, "detect", problem))
        return found

    def _lost(self, state: State, problem: str) -> Update:
        return Update(state, failure=_failure(self._kind, "update", problem))


def _failure(kind: str, method: str, problem: str) -> str:
    parts = misuse(kind, CONTROLLER, method, problem)
    return f"{parts['what']}; {parts['mend']}"
