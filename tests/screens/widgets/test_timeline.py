"""The time line: what it marks, and where keys, mouse and replay lead."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace
from rich.style import Style
from textual.app import App, ComposeResult

from app.runs.session import RunSession
from app.state.event_index import EventIndex, Mark
from engine import events as ev
from engine.run.directory import RunDirectory
from screens.widgets.stage_bar import StageBar
from screens.widgets.timeline import _KEYS, SPEEDS, Timeline
from tests.console import drawn
from tests.made_run import create_run
from tests.named_tones import Parts, name_tones, parts
from tests.recorded_session import RecordedSession
from tests.synthetic_run import SyntheticRun, write_log


class TimelineApp(App[None]):
    """Stages and time line, nothing else."""

    def __init__(self, session: RunSession) -> None:
        super().__init__()
        self.session = session
        self.timeline = Timeline(session)
        self.stages = StageBar(session)

    def compose(self) -> ComposeResult:
        yield self.stages
        yield self.timeline

    async def settle(self, seq: int | None = None) -> None:
        """Until event `seq` (the last one, if None) is shown."""
        wanted = seq
        for _ in range(500):
            self.session.update()
            wanted = self.session.total_events - 1 if seq is None else seq
            if self.session.state.seq == wanted and self.session.total_events > 1:
                break
            await asyncio.sleep(0.01)
        assert self.session.state.seq == wanted
        self.stages.refresh()
        self.timeline.refresh()

    @property
    def track(self) -> str:
        return self.timeline.render().plain.split("\n")[0]


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    run = create_run(tmp_path, "demo", seed=1, stages=["eval"], config={}, config_text="{}\n", versions={})
    write_log(run.events, SyntheticRun(examples=8).events())
    return run


@pytest.fixture
def session(run: RunDirectory) -> Iterator[RunSession]:
    session = RunSession(run.path)
    yield session
    session.close()


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_track_names_stages_and_marks_warnings(session: RunSession, size: tuple[int, int]) -> None:
    app = TimelineApp(session)
    async with app.run_test(size=size) as pilot:
        await app.settle()
        await pilot.pause()
        line = app.track
        last = session.total_events - 1
        assert "│mine" in line and "│eval" in line and "!" in line
        assert f"{last:,}/{last:,}" in line
        assert len(line) <= size[0] - 2
        assert line.index("│eval") > line.index("!") > line.index("│mine")
        assert app.timeline.size.height == (2 if size[1] >= 30 else 1)
        if size[1] >= 30:
            assert "2 of 160 rollouts never wrote the delimiter" in app.timeline.render().plain


async def test_steps_go_event_by_event_and_decision_by_decision(session: RunSession) -> None:
    app = TimelineApp(session)
    async with app.run_test():
        await app.settle()
        last = session.total_events - 1
        app.timeline.step(-1)
        app.timeline.step(-1)
        assert session.cursor == last - 2
        await app.settle(last - 2)
        assert session.state.seq == last - 2 and "PAST" in app.track
        app.timeline.stop_at(-1)
        assert session.cursor is not None
        stop = session.cursor
        await app.settle(stop)
        app.timeline.stop_at(1)
        assert session.cursor > stop
        session.seek(0)
        app.timeline.step(-1)
        assert session.cursor == 0, "before the first event there is nothing"


async def test_a_click_looks_at_the_moment_under_it(session: RunSession) -> None:
    app = TimelineApp(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.settle()
        await pilot.pause()
        await pilot.click(Timeline, offset=(1, 0))
        assert session.cursor == 0
        await pilot.click(Timeline, offset=(20, 0))
        middle = session.cursor
        assert middle is not None and 0 < middle < session.total_events - 1
        await app.settle(middle)
        assert app.track.index("◆") == 19, "the cursor is where the click was"


async def test_replay_goes_through_the_log_in_its_own_time(session: RunSession) -> None:
    app = TimelineApp(session)
    async with app.run_test():
        await app.settle()
        last = session.total_events - 1
        app.timeline.toggle_replay()
        assert app.timeline.replaying and session.cursor == 0, "at the end of the log it begins anew"
        assert "REPLAY ×1" in app.track
        for _ in range(2):
            app.timeline.next_speed()
        assert "×16" in app.track
        seen = [0]
        for _ in range(200):
            app.timeline.play()
            if session.cursor is None:
                break
            seen.append(session.cursor)
        assert session.cursor is None and not app.timeline.replaying, "at the end it goes with the log"
        assert seen == sorted(seen) and len(set(seen)) > 5
        log_seconds = session.index.time_of(last) - session.index.began()
        assert abs(len(seen) * 0.1 * 16 - log_seconds) < 2 * 1.6


async def test_stage_bar_is_one_line(session: RunSession) -> None:
    app = TimelineApp(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.settle()
        session.seek(session.total_events - 10)
        await app.settle(session.total_events - 10)
        await pilot.pause()
        [line] = app.stages.render().plain.split("\n")
        assert line.startswith("✓ mine ✓ select ✓ memory ▶ eval ━") and len(line) <= 78
        assert "tok/s" in line and "ETA" in line


async def test_an_empty_log_is_no_problem(tmp_path: Path) -> None:
    run = create_run(tmp_path, "demo", seed=1, stages=["eval"], config={}, config_text="{}\n", versions={})
    session = RunSession(run.path)
    app = TimelineApp(session)
    async with app.run_test() as pilot:
        await pilot.pause()
        app.timeline.step(1)
        app.timeline.stop_at(-1)
        app.timeline.toggle_replay()
        assert session.cursor is None and not app.timeline.replaying
        assert "no stage has started" in app.stages.render().plain
    session.close()


@pytest.mark.parametrize(("x", "seq"), [(-3, 0), (0, 0), (1, 10), (5, 50), (9, 90), (10, 100), (40, 100)])
def test_the_ends_of_the_track_are_the_first_and_the_last_event(x: int, seq: int) -> None:
    """101 events on 11 cells are ten a cell."""
    timeline = Timeline(cast(Any, SimpleNamespace(index=None, total_events=101)))
    timeline._track_width = 11
    assert timeline._seq_at(x) == seq
    assert timeline._x_of(seq) == max(0, min(x, 10))


@pytest.mark.parametrize(
    ("seq", "caption"),
    [
        (3, ""),
        (4, "! slow (event 4)"),
        (6, "! slow (event 4)"),
        (7, "✗ no disk (event 7)"),
        (9, "✗ no disk (event 7)"),
    ],
)
async def test_the_caption_names_the_last_mark_up_to_the_cursor(seq: int, caption: str) -> None:
    """That under it as well; names of stages stand in the track itself."""
    index = EventIndex()
    index.marks = [Mark(2, "stage", "eval"), Mark(4, "warning", "slow"), Mark(7, "failure", "no\ndisk")]
    session = SimpleNamespace(
        index=index, total_events=10, cursor=seq, frozen=False, state=SimpleNamespace(seq=9)
    )
    timeline = Timeline(cast(Any, session))
    timeline.display = False  # of a session that has only this much, the rest cannot be drawn
    async with App[None]().run_test() as pilot:
        await pilot.app.mount(timeline)
        assert timeline._caption(200).plain.removesuffix(_KEYS).rstrip() == caption


def recorded(folder: Path, times: Sequence[float], *marked: ev.Event) -> RecordedSession:
    """An event at each of these times, of which some are these."""
    events: dict[int, ev.Event] = {event.seq: event for event in marked}
    entries = [
        (
            replace(events.get(seq, ev.StageProgress(stage="mine", done=1, total=2)), seq=seq, time=time),
            seq,
            1,
        )
        for seq, time in enumerate(times)
    ]
    return RecordedSession(entries, folder)


@pytest.mark.parametrize(
    ("width", "track"), [(21, "━━│mine━!━‖━│e◆a↻─✗──"), (11, "━│mi!‖│◆↻✗l"), (9, "━│━!‖│◆✗─"), (6, "│━!│◆─")]
)
def test_the_track_sign_by_sign(
    width: int, track: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """11 events are 2, 1, 0.8 and half a cell each: of two signs in a cell the graver is drawn, a name where there is
    room before the next stage, and the cursor over all. A note of the engine and the first worker have no sign."""
    monkeypatch.setattr("screens.widgets.timeline.tone", lambda widget, name: Style())
    session = recorded(
        tmp_path, range(11), ev.StageStarted(seq=1, stage="mine", total=2),
        ev.WorkerStarted(seq=3, pid=1, attempt=1, stages=[]), ev.Notice(seq=4, level="warning", text="slow"),
        ev.StagePaused(seq=5, stage="mine"),
        ev.StageStarted(seq=6, stage="eval", total=2), ev.WorkerStarted(seq=8, pid=1, attempt=2, stages=[]),
        ev.StageFailed(seq=9, what="no disk"),
    )  # fmt: skip
    session.seek(7)
    timeline = Timeline(session)
    timeline._track_width = width
    assert timeline._track().plain == track
    empty = Timeline(recorded(tmp_path, []))
    empty._track_width = width
    assert empty._track().plain == "─" * width


@pytest.mark.parametrize(
    ("count", "cursor", "frozen", "reading", "replaying", "words"),
    [
        (0, None, False, None, False, "○ NOT STARTED"),
        (1, None, False, None, False, "0/0 +0:00 ● LIVE"),
        (2, 0, False, None, False, "0/1 +0:00  PAST ×4 "),
        (1_001, None, False, 0.345, False, "1,000/1,000 +1:06:40  READING 34% "),
        (1_001, 7, False, 0.345, False, "    7/1,000 +0:28  PAST ×4 "),
        (1_001, None, True, 0.345, False, "1,000/1,000 +1:06:40  FROZEN "),
        (1_001, 7, False, None, True, "    7/1,000 +0:28  ▶ REPLAY ×4 "),
    ],
)
def test_the_readings(
    count: int, cursor: int | None, frozen: bool, reading: float | None, replaying: bool, words: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """An event every four seconds; numbers are as wide as the last one."""
    monkeypatch.setattr("screens.widgets.timeline.tone", lambda widget, name: Style())
    monkeypatch.setattr(RecordedSession, "reading", reading)
    times = [1_000.0 + 4 * number for number in range(count)]
    session = recorded(tmp_path, times, ev.WorkerStarted(pid=1, attempt=1, stages=[]))
    session.seek(cursor)
    session.frozen = frozen
    timeline = Timeline(session)
    timeline.next_speed()
    monkeypatch.setattr(Timeline, "replaying", replaying)
    assert timeline._readings().plain == words


@pytest.mark.parametrize(
    ("times", "start", "speed", "ticks"),
    [
        ([1_000, 1_000.45, 1_010], 0, 0, [1] * 5 + [2] * 11 + [3]),
        ([1_000, 1_000.45, 1_010], 0, 1, [1] * 2 + [2] * 12 + [3]),
        ([1_000, 1_001, 1_002, 1_200, 1_100, 1_100.35], 4, 0, [5] * 4 + [6]),
    ],
)  # fmt: skip
def test_how_many_ticks_each_event_takes(
    times: list[float], start: int, speed: int, ticks: list[int], tmp_path: Path
) -> None:
    """A tick is 0.1 s of the log, at the second speed 0.4. 0.45 s take five ticks, or two; of a wait of almost ten
    seconds the first tick leaves a second of the clock on the wall, which takes ten more (of 0.4 s eleven, by
    rounding). A clock that was set back
    before does not stop the replay. `ticks`: the event that each of them waits for; the last finds no more."""
    session = recorded(tmp_path, times)
    timeline = Timeline(session)
    for _ in range(speed):
        timeline.next_speed()
    session.seek(start)
    timeline._clock = session.index.time_of(start)
    waited: list[int] = []
    while session.cursor is not None and len(waited) < 99:
        waited.append(session.cursor + 1)
        timeline.play()
    assert waited == ticks


async def test_a_drag_goes_along_the_track_and_beyond_it(tmp_path: Path) -> None:
    """101 events on 60 cells; only the button on the track begins it."""
    session = recorded(tmp_path, range(101))
    timeline = Timeline(session)
    async with App[None]().run_test(size=(80, 24)) as pilot:
        await pilot.app.mount(timeline)
        await pilot.pause()
        width = timeline._track_width
        seen: list[int | None] = []
        await pilot.hover(Timeline, offset=(5, 0))
        seen.append(session.cursor)
        await pilot.mouse_down(Timeline, offset=(width + 1, 0))
        seen.append(session.cursor)
        await pilot.mouse_down(Timeline, offset=(1, 0))
        seen.append(session.cursor)
        await pilot.pause()
        width = timeline._track_width
        for x in (width, width + 5):
            await pilot.hover(Timeline, offset=(x, 0))
            seen.append(session.cursor)
        await pilot.mouse_up(Timeline, offset=(width, 0))
        await pilot.hover(Timeline, offset=(1, 0))
        seen.append(session.cursor)
    assert seen == [None, None, 0, 100, 100, 100]


async def test_the_last_cell_of_the_track_is_the_last_event(tmp_path: Path) -> None:
    """The track begins at the second column; behind it the readings begin, which lead nowhere."""
    session = recorded(tmp_path, range(101))
    timeline = Timeline(session)
    async with App[None]().run_test(size=(80, 24)) as pilot:
        await pilot.app.mount(timeline)
        await pilot.pause()
        await pilot.mouse_down(Timeline, offset=(timeline._track_width, 0))
        assert session.cursor == 100


def test_the_replay_begins_anew_after_the_last_speed(tmp_path: Path) -> None:
    timeline = Timeline(recorded(tmp_path, range(3)))
    speeds = []
    for _ in range(5):
        speeds.append(SPEEDS[timeline._speed])
        timeline.next_speed()
    assert speeds == [1, 4, 16, 64, 1]


def test_the_tones_of_the_track(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is past and what is to come; names are strong, a failure bad, a warning and a pause alert; a resumed worker
    has the tone of its place. 11 events on 21 cells are two cells each."""
    name_tones(monkeypatch, "widgets.timeline")
    session = recorded(
        tmp_path, range(11), ev.StageStarted(seq=1, stage="mine", total=2),
        ev.Notice(seq=5, level="warning", text="slow"), ev.StagePaused(seq=6, stage="mine"),
        ev.WorkerStarted(seq=7, pid=1, attempt=1, stages=[]), ev.WorkerStarted(seq=8, pid=1, attempt=2, stages=[]),
        ev.StageFailed(seq=9, what="no disk"),
    )  # fmt: skip
    session.seek(7)
    timeline = Timeline(session)
    timeline._track_width = 21
    assert parts(timeline._track()) == [
        ("━━", "done"), ("│mine", "strong"), ("━━━", "done"), ("!", "alert"), ("━", "done"), ("‖", "alert"),
        ("━", "done"), ("◆", "accent"), ("─↻─", "rest"), ("✗", "bad"), ("──", "rest"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cursor", "frozen", "reading", "live", "tones"),
    [
        (None, False, None, True, [("10/10 ", "strong"), ("+0:10 ", "dim"), ("● LIVE", "good")]),
        (None, False, None, False, [("10/10 ", "strong"), ("+0:10 ■ END", "dim")]),
        (2, False, None, True, [(" 2/10 ", "strong"), ("+0:02 ", "dim"), (" PAST ×1 ", "badge")]),
        (None, True, None, True, [("10/10 ", "strong"), ("+0:10 ", "dim"), (" FROZEN ", "badge")]),
        (None, False, 0.5, True, [("10/10 ", "strong"), ("+0:10 ", "dim"), (" READING 50% ", "badge")]),
    ],
)
def test_the_tones_of_the_readings(
    cursor: int | None, frozen: bool, reading: float | None, live: bool, tones: Parts,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    name_tones(monkeypatch, "widgets.timeline")
    monkeypatch.setattr(RecordedSession, "reading", reading)
    last = ev.WorkerStopped(seq=10, status="finished")
    session = recorded(
        tmp_path, range(11), ev.WorkerStarted(pid=1, attempt=1, stages=[]), *([] if live else [last])
    )
    session.seek(cursor)
    session.frozen = frozen
    assert parts(Timeline(session)._readings()) == tones


@pytest.mark.parametrize(
    ("state", "alive", "end"),
    [("starting", False, "● LIVE"), ("running", True, "● LIVE"), ("stopped", False, "■ END"),
     ("prepared", False, "○ NOT STARTED"), ("interrupted", False, "■ END")],
)  # fmt: skip
def test_the_end_is_live_as_long_as_a_worker_is(
    state: str, alive: bool, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the log says: that of a killed worker ends in the middle."""
    name_tones(monkeypatch, "widgets.timeline")
    session: Any = recorded(tmp_path, range(3), ev.WorkerStarted(pid=1, attempt=1, stages=[]))
    session.status = SimpleNamespace(state=state, alive=alive)
    text, style = Timeline(session)._end()
    assert text == end and style.meta["tone"] == ("good" if "LIVE" in end else "dim")


def test_the_caption_has_the_time_the_mark_and_the_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keys take 64 cells and a gap of two; the mark gives way."""
    name_tones(monkeypatch, "widgets.timeline")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    session = recorded(
        tmp_path, [1_760_000_000.25 + at for at in range(9)],
        ev.Notice(seq=4, level="warning", text="slow"), ev.StageFailed(seq=7, what="no disk"),
    )  # fmt: skip
    timeline = Timeline(session)
    captions = []
    for seq, width in ((3, 110), (4, 110), (7, 110), (4, 90)):
        session.seek(seq)
        captions.append(parts(timeline._caption(width)))
    monkeypatch.undo()
    time.tzset()
    keys = "[ ] event   { } decision   , replay   . speed   0 start   L live"
    assert len(keys) == 64
    assert captions == [
        [("2025-10-09 08:53:23  ", "dim"), (" " * 25, ""), (keys, "dim")],
        [("2025-10-09 08:53:24  ", "dim"), ("! slow (event 4)", "alert"), (" " * 9, ""), (keys, "dim")],
        [("2025-10-09 08:53:27  ", "dim"), ("✗ no disk (event 7)", "bad"), (" " * 6, ""), (keys, "dim")],
        [("2025-10-09 08:53:24  ", "dim"), ("! …", "alert"), ("  ", ""), (keys, "dim")],
    ]


def test_the_replay_goes_on_from_where_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the last event it begins anew; a key that moves halts it."""
    session = recorded(tmp_path, range(5))
    timeline = Timeline(session)
    ticks: list[float] = []

    def every(seconds: float, play: object) -> SimpleNamespace:
        ticks.append(seconds)
        return SimpleNamespace(stop=lambda: None)

    monkeypatch.setattr(timeline, "set_interval", every)
    monkeypatch.setattr(timeline, "refresh", lambda: timeline)
    begun: list[tuple[int | None, bool]] = []
    for seq in (2, 3, 4, None):
        session.seek(seq)
        timeline.toggle_replay()
        begun.append((session.cursor, timeline.replaying))
        timeline.step(1)
        assert not timeline.replaying
    assert begun == [(2, True), (3, True), (0, True), (0, True)] and set(ticks) == {0.1}
    timeline.toggle_replay()
    timeline.toggle_replay()
    assert not timeline.replaying, "the same key halts it"


@pytest.mark.parametrize(("height", "lines"), [(29, 1), (30, 2)])
async def test_the_caption_needs_thirty_lines(session: RunSession, height: int, lines: int) -> None:
    app = TimelineApp(session)
    async with app.run_test(size=(100, height)):
        assert app.timeline.size.height == lines


async def test_a_replay_that_is_halted_says_so_no_longer(session: RunSession) -> None:
    app = TimelineApp(session)
    async with app.run_test(size=(100, 24)) as pilot:
        await app.settle()
        await pilot.pause()
        session.update = lambda: None  # type: ignore[method-assign]
        timeline, seen = app.timeline, list[list[str]]()
        for change in (timeline.toggle_replay, timeline.next_speed, timeline.toggle_replay):
            change()
            await pilot.pause()
            seen.append([words for words in ("REPLAY ×1", "REPLAY ×4") if words in drawn(app)])
        assert seen == [["REPLAY ×1"], ["REPLAY ×4"], []]
