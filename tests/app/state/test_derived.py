"""What the states of GFlowNet and SLSM work out from what they keep."""

from __future__ import annotations

from typing import Any

import pytest

from app.state.gflownet import GFlowNetState
from app.state.method import Place
from app.state.run import RunState
from app.state.slsm import ResultRow, SLSMState
from engine import events as ev


def looked(best: tuple[int, ...]) -> GFlowNetState:
    """Three looks at validation, those at these steps the best so far, and the test."""
    state = RunState()
    for split, step in (("validation", 100), ("validation", 200), ("validation", 300), ("test", 300)):
        state.apply(
            ev.SamplerEvaluated(
                split=split, step=step, method="gflownet", n=4, k=10, metrics={}, best=step in best
            )
        )
    return state.gflownet


@pytest.mark.parametrize(
    ("best", "kept"), [((), None), ((100,), 100), ((100, 200), 200), ((100, 200, 300), 300)]
)
def test_the_last_look_that_was_the_best_so_far_is_kept(best: tuple[int, ...], kept: int | None) -> None:
    state = looked(best)
    assert (None if state.kept is None else (state.kept.step, state.kept.split)) == (
        None if kept is None else (kept, "validation")
    )
    assert [look.step for look in state.validation] == [100, 200, 300] and [
        look.step for look in state.test
    ] == [300]


def answer(mode: str, passed: bool | None, **fields: Any) -> ResultRow:
    memory = "none" if mode == "baseline" else "structured"
    row = ResultRow("c", "", mode, memory, 0, passed, mode != "baseline", False, 0, "", 1, 0, Place(0, 0))
    return row._replace(**fields)


@pytest.mark.parametrize(
    ("plain", "row", "sign"),
    [
        (False, answer("always", True), 1),
        (True, answer("always", False), -1),
        (True, answer("always", True), 0),
        (False, answer("always", None), 0),
        (None, answer("always", True), 0),
        (False, answer("on_risk", True, injected=False), 0),
        (True, answer("never", False, injected=False), 0),
        (False, answer("always", True, attempt=1), 0),
        (False, answer("always", True, conversation_id="d"), 0),
    ],
)
def test_only_a_note_that_was_given_turns_an_answer(plain: bool | None, row: ResultRow, sign: int) -> None:
    """Of the same conversation and attempt, where both were judged; an answer without a note is luck."""
    state = SLSMState()
    for each in (answer("baseline", plain), row):
        state.results.append(each, key=(each.conversation_id, each.memory_mode, each.mode, each.attempt))
    assert state.against_plain(row) == sign
    right, wrong = state.turned(row.mode, "baseline")
    assert (len(right), len(wrong)) == (int(sign > 0), int(sign < 0))
