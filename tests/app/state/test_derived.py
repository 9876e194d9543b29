"""What the states of methods work out from what they are told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from zlib import crc32

import pytest
from msgspec import structs

from app.state.decisions import Decisions
from app.state.gflownet import GFlowNetState
from app.state.run import RunState
from app.state.slsm import ResultRow, SLSMState
from engine import events as ev
from engine.run.event_log import LogPlace
from tests.synthetic_pool import pool_events


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
    row = ResultRow(
        "c", "", mode, memory, 0, passed, mode != "baseline", False, 0, "", 1, 0, False, LogPlace(0, 0)
    )
    return row._replace(**fields)


@pytest.mark.parametrize(
    ("plain", "row", "sign"),
    [
        (False, answer("always", True), 1),
        (True, answer("always", False), -1),
        (True, answer("always", True), 0),
        (False, answer("always", None), 0),
        (True, answer("always", None), 0),
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


@pytest.mark.parametrize(
    ("pieces", "text", "segment"),
    [
        (["abc", "de"], "abcde", 0),
        (["abc", "de"], "abXde", 1),
        (["abc", "de"], "abcdX", 2),
        (["abc", "de"], "abcdef", 2),
        (["abc", "de"], "abcd", 2),
        (["abc", "de"], "ab", 1),
        (["abc"], "abcde", 1),
        ([], "", 0),
    ],
)
def test_in_which_segment_an_answer_leaves_greedys(pieces: list[str], text: str, segment: int) -> None:
    """Where greedy writes on behind all of them, the last one left its way: it ended there."""
    columns = {
        "characters": [len(piece) for piece in pieces],
        "crc": [crc32(piece.encode()) for piece in pieces],
    }
    decisions: Any = SimpleNamespace(column=columns.__getitem__)
    assert Decisions.first_difference(decisions, range(len(pieces)), text) == segment


def test_halves_of_letters_are_compared_like_any_other_text() -> None:
    """A model may write them; they are not each other's equals."""
    state = RunState()
    for place, segment in enumerate(("a\ud800", "b\udfff")):
        taken = ev.DecisionTaken(method="esm", example="x", m=place + 1, gate="chosen", segment=segment)
        state.apply(taken, place * 10, 9)
    decisions = state.esm.decisions
    found = [
        decisions.first_difference([0, 1], text) for text in ("a\ud800b\udfff", "a\ud801b\udfff", "a\ud800b?")
    ]
    assert found == [0, 1, 2]


def test_fully_right_pairs_are_counted_once_each() -> None:
    """Given: 1+2 fully right, also a second time, and 3+4 half right. At the end: 1+2 is kept twice and 5+6 was
    committed; 7+8 is fully right and was refused."""
    told = (
        ((1, 2), 1.0, "given", 1), ((1, 2), 1.0, "given", 1), ((3, 4), 0.5, "given", 1),
        ((5, 6), 1.0, "committed", 2), ((7, 8), 1.0, "refused", 0), ((9, 10), None, "refused", 0),
    )  # fmt: skip
    trajectories = [
        ev.PoolTrajectory(pair=pair, score=score, origin="", verdict=verdict, kept=kept)
        for pair, score, verdict, kept in told
    ]
    done = next(event for event in pool_events() if isinstance(event, ev.PoolQueryDone))
    state = RunState()
    state.apply(structs.replace(done, trajectories=trajectories))
    row = state.pool.queries[0]
    assert (row.right_before, row.right_after, row.committed, row.refused) == (1, 2, 1, 2)
