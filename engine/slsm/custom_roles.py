"""Judges and controllers of the user's own: `slsm.judge.kind` and `slsm.controller.kind` as `module:Class`. Several
threads may call one object.

What such a class raises or returns wrongly counts as a failure of the built-in ones does: the answer is left unjudged,
the update of the turn is lost and its reason told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.custom_class import Method, Role, WrongResult
from engine.slsm.controllers.controller import Conflict, Detection, Update
from engine.slsm.controllers.diff import DiffRefused, StateDiff, apply_diff
from engine.slsm.judges.judge import AnswerJudgeFailed, AnswerVerdict
from engine.slsm.state import SemanticState, State
from engine.slsm.turns import Turn


def _verdict(returned: Any, name: str, *asked: Any) -> AnswerVerdict:
    """`judge(criterion: Criterion, answer: str)` returns whether the answer passes, True or False, or an
    AnswerVerdict."""
    verdict = AnswerVerdict(returned, f"{name} says so") if isinstance(returned, bool) else returned
    if not isinstance(verdict, AnswerVerdict) or not isinstance(verdict.passed, bool):
        raise WrongResult.of(returned, "True, False or an AnswerVerdict")
    return verdict


def _update(returned: Any, name: str, state: State, turns: Sequence[Turn]) -> Update:
    """`update(state: State, turns: Sequence[Turn])` returns an Update or, of a structured state, a StateDiff."""
    update = returned
    if isinstance(returned, StateDiff) and isinstance(state, SemanticState):
        try:
            update = Update(apply_diff(state, returned), returned)
        except DiffRefused as error:
            raise WrongResult(f"its diff does not fit: {error}") from None
    if not isinstance(update, Update):
        raise WrongResult.of(returned, "an Update or a StateDiff")
    if type(update.state) is not type(state):
        raise WrongResult(f"it returned a {type(update.state).__name__} for a {type(state).__name__}")
    return update


def _detection(returned: Any, name: str, *asked: Any) -> Detection:
    """`detect(state, turns, answer)`, which may be left out, returns a Detection, or a list of Conflicts."""
    detection = Detection(tuple(returned)) if isinstance(returned, list | tuple) else returned
    if not isinstance(detection, Detection) or not all(isinstance(c, Conflict) for c in detection.conflicts):
        raise WrongResult.of(returned, "a Detection or Conflicts")
    return detection


JUDGE = Role("slsm.judge.kind", (Method("judge", ("criterion", "answer"), _verdict, AnswerJudgeFailed),))
CONTROLLER = Role(
    "slsm.controller.kind",
    (
        Method(
            "update", ("state", "turns"), _update, lost=lambda why, state, turns: Update(state, failure=why)
        ),
        Method(
            "detect", ("state", "turns", "answer"), _detection,
            lost=lambda why, *asked: Detection(failure=why), default=lambda *asked: Detection(),
        ),
    ),
)  # fmt: skip
