"""The stage strip always shows the stage at work; the small curve stays in its cells."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.style import Style

from app.runs.time_left import TimeLeft
from engine.events import StageFailed
from engine.run import stage_state
from screens.run_session import Session
from screens.widgets.stage_bar import StageBar
from screens.widgets.stretch import visible


@pytest.mark.parametrize("current", range(14))
@pytest.mark.parametrize("room", [5, 30, 76, 500])
def test_the_current_stage_is_always_visible(current: int, room: int) -> None:
    widths = [7, 9, 9, 7, 11, 9, 9, 12, 15, 11, 9, 7, 7, 11]
    first, last = visible(widths, current, room)
    assert first <= current < last
    if sum(widths[first:last]) > widths[current]:
        assert sum(widths[first:last]) + 4 * (room < sum(widths)) <= room
    assert (first, last) == (0, 14) or room < sum(widths)


@pytest.mark.parametrize(
    ("status", "brief", "figures"),
    [
        (stage_state.STOPPED, True, "1,250/2,000 kept"),
        (stage_state.STOPPED, False, ""),
        (stage_state.PAUSED, True, "1,250/2,000  PAUSED"),
        (stage_state.FAILED, True, "no disk"),
        (stage_state.WAITING, True, ""),
    ],
)
def test_the_figures_of_a_stage_that_does_not_work(
    status: str, brief: bool, figures: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("screens.widgets.stage_bar.tone", lambda widget, name: Style())
    error = StageFailed(what="no disk")
    stage = stage_state.StageState("mine", status=status, done=1_250, total=2_000, error=error)
    bar = StageBar(cast(Session, None))
    assert bar._figures(stage, brief=brief).plain == figures


@pytest.mark.parametrize(
    ("status", "done", "drawn"),
    [
        (stage_state.RUNNING, 1, "━━━╸──────────"),
        (stage_state.STOPPED, 2, "━━━━━━━───────"),
        (stage_state.WAITING, 0, "──────────────"),
        (stage_state.FINISHED, 0, "━━━━━━━━━━━━━━"),
        (stage_state.SKIPPED, 0, "──────────────"),
    ],
)
def test_a_bar_is_as_full_as_its_stage_is_done(
    status: str, done: int, drawn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """14 cells for 4 items: 3.5 each. Of a stage that is skipped nothing is done, though nothing is left to do."""
    monkeypatch.setattr("screens.widgets.stage_bar.tone", lambda widget, name: Style())
    stage = stage_state.StageState("mine", status=status, done=done, total=4)
    assert StageBar(cast(Session, None))._bar(stage, 14).plain == drawn


@pytest.mark.parametrize(
    ("elapsed", "left", "words"),
    [
        (30.0, TimeLeft(30.0), "ETA 0:30"),
        (30.0, TimeLeft(90.0), "ETA 0:30, all stages 1:30"),
        (30.0, TimeLeft(30.0, unknown=("eval",)), "ETA 0:30, all stages: not known yet"),
        (0.0, TimeLeft(0.0, unknown=("mine",)), "all stages: not known yet"),
        (30.0, None, "ETA 0:30"),
    ],
)
def test_what_is_left_of_the_stage_and_of_all(
    elapsed: float, left: TimeLeft | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a stage took 30 s, so its other half takes as long; of the last stage both are the same."""
    monkeypatch.setattr("screens.widgets.stage_bar.run_time_left", lambda session: left)
    stage = stage_state.StageState(
        "mine", stage_state.RUNNING, done=2 if elapsed else 0, total=4, elapsed=elapsed
    )
    session: Any = SimpleNamespace(reading=None)
    assert StageBar(session)._left(stage) == words
    session.reading = 0.5
    assert StageBar(session)._left(stage) == "", "what is read tells nothing of the time left"
