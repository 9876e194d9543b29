"""Which methods a run has, what its screens ask of its session, and the files of an item."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.blocks.block import Paragraph
from app.state.run import RunState
from engine import events as ev
from engine.run.stage_state import FINISHED, PAUSED, RUNNING, STOPPED, WAITING, StageState
from screens import exports
from screens.method_screen import MethodScreen, screen_of
from screens.run_session import at_rest, reading_words, run_time_left, shown_stages, work_over
from screens.slsm.screen import SLSMScreen
from screens.systems import system_of, systems, systems_of
from tests.recorded_session import RecordedSession
from tests.synthetic_pool import pool_events
from tests.synthetic_run import write_log
from tests.synthetic_slsm import slsm_events
from tests.two_runs import evaluated, make_run


@pytest.mark.parametrize(
    ("stages", "titles"),
    [
        (["mine", "eval"], ["ESM"]),
        (["selector", "mine", "pool", "graphs"], ["Pool", "ESM", "GFlowNet"]),
        (["serve"], ["Server", "ESM"]),
        (["theirs"], ["ESM"]),
        ([], ["ESM"]),
    ],
)
def test_the_methods_of_a_run(stages: list[str], titles: list[str]) -> None:
    """In the order of their first stages; of none that is known, the first of all."""
    assert [system.title for system in systems_of(stages)] == titles


def test_the_method_of_a_stage() -> None:
    found = {
        stage: system_of(stage)
        for stage in ("mine", "evolve", "answer", "slsm", "selector", "serve", "theirs")
    }
    titles = [None if system is None else system.title for system in found.values()]
    assert titles == ["ESM", "Evolution", "GFlowNet", "SLSM", "Pool", "Server", None]
    assert len({system.title for system in systems()}) == len(systems()) and all(s.title for s in systems())


def session_of(**changes: Any) -> Any:
    """Of a run at work, looked at as it is now."""
    status = SimpleNamespace(state=changes.pop("state", "running"))
    known = {
        "cursor": None,
        "frozen": False,
        "reading": None,
        "behind": 0,
        "log_is_cut": False,
        "state": RunState(),
        "status": status,
    }
    return SimpleNamespace(**(known | changes))


def test_the_time_left_is_that_of_a_run_at_work_as_it_is_now() -> None:
    half = StageState("mine", RUNNING, done=2, total=4, elapsed=30.0)
    for changes, known in (
        ({}, True), ({"cursor": 3}, False), ({"reading": 0.5}, False), ({"state": "paused"}, False),
    ):  # fmt: skip
        session = session_of(**changes)
        session.state.stages = {"mine": half}
        left = run_time_left(session)
        assert (left is not None and left.seconds == 30.0) == known, changes


def test_what_is_said_while_the_log_is_read() -> None:
    assert reading_words(session_of()) == ""
    words = "The log is still being read (12%): more may stand here soon."
    assert reading_words(session_of(reading=0.123)) == words


def test_a_run_that_starts_is_at_work() -> None:
    assert not at_rest(session_of(state="starting")) and at_rest(session_of(state="finished"))
    assert not at_rest(session_of(state="finished", frozen=True))
    assert not work_over(session_of(state="paused"), ("mine",)), "none of these stages is known yet"


@pytest.mark.parametrize(
    ("state", "changes", "stopped"),
    [("interrupted", {}, True), ("running", {}, False), ("interrupted", {"cursor": 3}, False),
     ("interrupted", {"frozen": True}, False)],
)  # fmt: skip
def test_what_a_vanished_worker_was_at(state: str, changes: dict[str, Any], stopped: bool) -> None:
    """It was stopped there; other stages are as they were. In the past it was at work."""
    session = session_of(state=state, **changes)
    statuses = (FINISHED, RUNNING, PAUSED, WAITING)
    session.state.stages = {status: StageState(status, status) for status in statuses}
    now = tuple(stage.status for stage in shown_stages(session))
    assert now == ((FINISHED, STOPPED, STOPPED, WAITING) if stopped else statuses)


@pytest.mark.parametrize(
    ("words", "name"),
    [("query train-0002", "query-train-0002"), ("«a/b» é!", "a-b"), ("?!", "item"), ("x" * 61, "x" * 60)],
)
def test_the_files_of_an_item_are_called_by_its_words(
    words: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have the same name beside each other in the folder for exports."""
    monkeypatch.setattr(exports, "item_words", lambda event: words)
    run = make_run(tmp_path, "r", [evaluated("greedy", "q", True, text="42")])
    session = RecordedSession([], run)
    page, text = exports.write_item(session, evaluated("greedy", "q", True), ())
    assert (page.suffix, text.suffix, page.stem) == (".html", ".md", text.stem)
    assert page.parent == text.parent == run / "exports" and page.stem.startswith(f"{name}-2")


def test_the_tabs_of_a_methods_screen(tmp_path: Path) -> None:
    """Of SLSM one more, in which one talks; the kinds of cases that a run has not are left out."""
    pool = RecordedSession(write_log(tmp_path / "pool.jsonl", pool_events()), tmp_path)
    slsm = RecordedSession(write_log(tmp_path / "slsm.jsonl", slsm_events()), tmp_path)
    screen = screen_of("Pool", pool)
    assert type(screen) is MethodScreen and isinstance(screen_of("SLSM", slsm), SLSMScreen)
    assert [(tab.id, tab.label) for tab in screen.TABS] == [
        ("cases", "Cases"), ("results", "Results"), ("training", "Training"),
    ]  # fmt: skip
    assert [tab.label for tab in screen_of("SLSM", slsm).TABS] == ["Cases", "Results", "Talk"]
    assert (screen.TITLE_WORD, list(screen.KINDS), screen.kind) == ("Pool", ["picks", "queries"], "picks")
    assert screen.method.help == screen.HELP and screen.method.shown_by == screen.STAGE_TABS


def test_a_verdict_stands_above_the_tables_of_its_method_alone(tmp_path: Path) -> None:
    """The verdicts of other methods are not this one's."""
    from tests.screens.overview.test_digest import VERDICTS

    events: list[ev.Event] = [
        ev.Header(schema_version=1, name="x", run_id="1", seed=0, stages=list(VERDICTS))
    ]
    events += [
        ev.StageFinished(stage=stage, seconds=1.0, verdict=verdict) for stage, verdict in VERDICTS.items()
    ]
    session = RecordedSession(write_log(tmp_path / "events.jsonl", events), tmp_path)
    blocks = screen_of("SLSM", session).result_blocks(session.state)
    words = (
        "A note on detection scores 90.0% over 240 examples; no note 29.2%: +60.8 points [55, 66]. The flat memory is"
        " not shown to be worse (90.8%, +0.8 points [0.0, 2.1])."
    )
    assert blocks == [Paragraph(words, "good")]
