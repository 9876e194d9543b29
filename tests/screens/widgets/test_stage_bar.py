"""The stage strip always shows the stage at work; the small curve stays in its cells."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.style import Style
from textual import on
from textual.app import App, ComposeResult
from textual.geometry import Size

from app.runs.time_left import TimeLeft
from engine import events as ev
from engine.events import StageFailed
from engine.run import stage_state
from engine.run.directory import RunDirectory, RunRecord, RunStatus
from screens.messages import SystemRequested
from screens.run_session import Session
from screens.widgets.stage_bar import StageBar, _last_started
from screens.widgets.stretch import visible
from tests.named_tones import Parts, name_tones, parts
from tests.recorded_session import RecordedSession


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
    ("current", "room", "shown"),
    [
        (0, 40, (0, 4)),  # all of it fits exactly
        (0, 39, (0, 3)),  # 4 cells are left for the ends: 10 + 10 + 10 of 35
        (3, 39, (1, 4)),
        (1, 34, (0, 3)),  # what comes next goes before what came before: 30 of 30
        (1, 24, (1, 3)),
        (1, 23, (1, 2)),
        (2, 10, (2, 3)),  # the current one in any case
    ],
)
def test_as_much_as_there_is_room_for(current: int, room: int, shown: tuple[int, int]) -> None:
    assert visible([10, 10, 10, 10], current, room) == shown


@pytest.mark.parametrize(
    ("status", "figures"),
    [
        (stage_state.STOPPED, "1,250/2,000 kept"),
        (stage_state.PAUSED, "1,250/2,000  PAUSED"),
        (stage_state.FAILED, "no disk"),
        (stage_state.WAITING, ""),
    ],
)
def test_the_figures_of_a_stage_that_does_not_work(
    status: str, figures: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("screens.widgets.stage_bar.tone", lambda widget, name: Style())
    error = StageFailed(what="no disk")
    stage = stage_state.StageState("mine", status=status, done=1_250, total=2_000, error=error)
    bar = StageBar(cast(Session, None))
    assert bar._figures(stage).plain == figures


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


@pytest.mark.parametrize("alive", [True, False])
def test_only_a_worker_that_lives_grows_older(alive: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each drawing is sent to the terminal: without a worker nothing changes by itself."""
    drawn = list[bool]()
    monkeypatch.setattr(StageBar, "refresh", lambda self: drawn.append(True))
    session: Any = SimpleNamespace(status=SimpleNamespace(alive=alive))
    StageBar(session)._beat()
    assert bool(drawn) == alive
    session.status = None
    StageBar(session)._beat()
    assert bool(drawn) == alive


def at_work(folder: Path) -> RecordedSession:
    """mine is done, select has 45 of 100 pairs after 45 s and 54,135 tokens, eval waits."""
    events = [
        ev.Header(schema_version=1, name="x", run_id="1", seed=0, stages=["mine", "select", "eval"]),
        ev.WorkerStarted(pid=1, attempt=1, stages=[]),
        ev.StageStarted(stage="mine", total=40, unit="examples"),
        ev.StageFinished(stage="mine", seconds=61.0, summary={"pairs": 40, "accuracy": 0.51239}),
        ev.StageStarted(stage="select", total=100, unit="pairs"),
        ev.StageProgress(stage="select", done=45, total=100, elapsed=45.0, tokens=54_135),
    ]
    return RecordedSession([(event, at, 1) for at, event in enumerate(events)], folder)


@pytest.mark.parametrize(
    ("width", "worker", "line"),
    [
        (30, False, "… ▶ select ○ eval 45/100      "),
        (50, False, "✓ mine ▶ select ○ eval ━━━━━━━━────────── 45/100  "),
        (50, True, "✓ mine ▶ select ○ eval ━━━──── 45/100  ● worker 42"),
        (78, False, "✓ mine ▶ select ○ eval ━━━━───── 45/100  ETA 0:55, all stages: not known yet  "),
        (120, False, "✓ mine ▶ select ○ eval ━━━━━━━━━━━───────────── 45/100  1,203 tok/s  ETA 0:55,"
                     " all stages: not known yet" + " " * 16),
    ],
)  # fmt: skip
def test_one_line_for_all_stages(
    width: int, worker: bool, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """54,135 tokens in 45 s are 1,203 a second, and the other 55 pairs take 55 s. Where it is narrow, the pace goes
    first, then the time left, the bar, and the stages at the sides; a bar has at most 24 cells."""
    monkeypatch.setattr("screens.widgets.stage_bar.tone", lambda widget, name: Style())
    monkeypatch.setattr(StageBar, "content_size", Size(width, 1))
    session = at_work(tmp_path)
    if worker:
        session.status = status("running", pid=42)
    drawn = StageBar(session)._compact(list(session.state.stages.values())).plain.replace("◉", "●")
    assert drawn == line


def status(state: str, pid: int | None = None, age: float | None = 0.0) -> RunStatus:
    record = RunRecord(
        name="x", run_id="1", created=0.0, updated=0.0, seeds={}, stages={}, versions={}, config={}
    )
    return RunStatus(RunDirectory(Path("outputs/x/1")), record, state, pid, "here", age)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, ""),
        (status("hung", 42, 65.0), "? no sign of life for 1:05"),
        (status("running", 42, 5.4), "● worker 42, silent for 5 s"),
        (status("running", 42, 5.0), "● worker 42"),
        (status("paused", 42, None), "● worker 42"),
        (status("finished"), ""),
        (status("prepared"), "○ prepared"),
        (status("starting"), "○ starting"),
        (status("stopped"), "○ stopped"),
        (status("failed"), "○ failed"),
        (status("interrupted"), "○ interrupted"),
    ],
)
def test_the_worker_by_its_lock_and_its_heartbeat(
    given: RunStatus | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its heart beats every second; from more than five seconds on it is silent."""
    monkeypatch.setattr("screens.widgets.stage_bar.tone", lambda widget, name: Style())
    session = at_work(tmp_path)
    session.status = given
    assert StageBar(session)._worker().plain.replace("◉", "●") == said


@pytest.mark.parametrize(
    ("given", "tones"),
    [
        (status("hung", 42, None), [("? no sign of life for 0:00", "bad")]),
        (status("running", 42, 5.4), [("● worker 42, silent for 5 s", "alert")]),
        (status("running", 42, 0.5), [("● worker 42", "good")]),
        (status("prepared"), [("○ prepared", "dim")]),
        (status("interrupted"), [("○ interrupted", "dim")]),
    ],
)
def test_the_tone_of_the_worker(
    given: RunStatus, tones: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_tones(monkeypatch, "widgets.stage_bar")
    monkeypatch.setattr("screens.widgets.stage_bar.time", SimpleNamespace(time=lambda: 3.0))
    session = at_work(tmp_path)
    session.status = given
    assert parts(StageBar(session)._worker()) == tones


def test_the_worker_beats_every_other_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name_tones(monkeypatch, "widgets.stage_bar")
    session = at_work(tmp_path)
    session.status = status("running", 42)
    signs = ""
    for now in (2.0, 2.9, 3.0, 4.0):
        monkeypatch.setattr("screens.widgets.stage_bar.time", SimpleNamespace(time=lambda at=now: at))
        signs += StageBar(session)._worker().plain[0]
    assert signs == "◉◉●◉"


def test_the_tones_of_the_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stage in the tone of its state; a click on it leads to it. What is cut at the sides is dim."""
    name_tones(monkeypatch, "widgets.stage_bar")
    shown = [
        stage_state.StageState(name, status)
        for name, status in (
            ("mine", stage_state.FINISHED), ("select", stage_state.FAILED), ("memory", stage_state.PAUSED),
            ("eval", stage_state.RUNNING), ("evolve", stage_state.STOPPED), ("graphs", stage_state.WAITING),
            ("slsm", stage_state.SKIPPED),
        )
    ]  # fmt: skip
    bar = StageBar(at_work(tmp_path))
    text = bar._chips(shown, shown[3], 100)
    assert parts(text) == [
        ("✓ mine ", "good"), ("✗ select ", "bad"), ("‖ memory ", "alert"), ("▶ eval ", "strong"),
        ("■ evolve ○ graphs ⊘ slsm ", "dim"),
    ]  # fmt: skip
    clicks = [
        span.style.meta["stage"]
        for span in text.spans
        if isinstance(span.style, Style) and "stage" in span.style.meta
    ]
    assert clicks == [stage.name for stage in shown]
    assert parts(bar._chips(shown, shown[3], 13)) == [("… ", "dim"), ("▶ eval ", "strong"), ("… ", "dim")]


def test_the_tones_of_the_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name_tones(monkeypatch, "widgets.stage_bar")
    bar = StageBar(at_work(tmp_path))
    error = StageFailed(what="no disk")

    def figures(status: str) -> Parts:
        return parts(
            bar._figures(stage_state.StageState("mine", status, done=1, total=2, elapsed=3.0, error=error))
        )

    assert figures(stage_state.PAUSED) == [("1/2  ", ""), ("PAUSED", "alert")]
    assert figures(stage_state.STOPPED) == [("1/2 kept", "dim")]
    assert parts(bar._figures(stage_state.StageState("mine", stage_state.STOPPED))) == [], "nothing was begun"
    assert figures(stage_state.FAILED) == [("no disk", "bad")]
    assert figures(stage_state.RUNNING) == [("1/2  ", ""), ("ETA 0:03, all stages: not known yet", "strong")]
    endless = stage_state.StageState("serve", stage_state.RUNNING, done=3)
    assert (
        bar._figures(endless).plain.startswith("3") and not bar._figures(stage_state.StageState("mine")).plain
    )


def test_the_tones_of_the_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """45 of 100 of 18 cells are 8.1."""
    name_tones(monkeypatch, "widgets.stage_bar")
    monkeypatch.setattr(StageBar, "content_size", Size(50, 1))
    session = at_work(tmp_path)
    drawn = parts(StageBar(session)._compact(list(session.state.stages.values())))
    assert ("━" * 8, "done") in drawn and ("─" * 10, "rest") in drawn


async def test_a_click_on_a_stage_opens_its_method(tmp_path: Path) -> None:
    """Of the line `✓ mine ▶ select ○ eval` each name, but nothing beside them."""
    asked: list[str] = []

    class BarApp(App[None]):
        def compose(self) -> ComposeResult:
            yield StageBar(at_work(tmp_path))

        @on(SystemRequested)
        def _asked(self, message: SystemRequested) -> None:
            asked.append(message.name)

    async with BarApp().run_test(size=(80, 24)) as pilot:
        for x in (1, 10, 79):
            await pilot.click(StageBar, offset=(x, 0))
            await pilot.pause()
    assert asked == ["ESM", "ESM"]


def test_before_the_first_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name_tones(monkeypatch, "widgets.stage_bar")
    session = RecordedSession([], tmp_path)
    session.status = status("prepared")
    assert parts(StageBar(session).render()) == [("no stage has started yet  ○ prepared", "dim")]


def test_what_has_begun_last_is_in_view_where_nothing_works(tmp_path: Path) -> None:
    waiting, done = stage_state.StageState("eval"), stage_state.StageState("mine", stage_state.FINISHED)
    stopped = stage_state.StageState("select", stage_state.STOPPED)
    assert _last_started([done, stopped, waiting]) is stopped
    assert _last_started([waiting, stage_state.StageState("slsm")]) is waiting
