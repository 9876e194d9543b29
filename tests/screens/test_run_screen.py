"""What all screens of a run have in common: quiet when nothing works, the way back from the past, a stop on its way."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from textual import on
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Static

from app.blocks.block import Document, Paragraph, Picture, Table
from app.blocks.drawing import Drawing
from app.runs.notes import Notes
from app.runs.orders import UserMessage
from app.runs.session import RunSession
from app.state.run import RunState
from engine import events as ev
from engine.errors import RunError
from engine.events.verdict import Verdict
from engine.run.directory import RunDirectory, RunStatus, inspect
from engine.run.stage_state import StageState
from screens import exports
from screens.esm.screen import EsmScreen
from screens.exports import write_report
from screens.leaving import LeftRun, WaitingScreen
from screens.messages import SystemRequested
from screens.method_screen import MethodScreen
from screens.notes.screen import NotesScreen
from screens.overview.screen import OverviewScreen
from screens.panels.ask import AskScreen
from screens.panels.error_panel import ErrorPanel, Fault
from screens.panels.help import tab_first
from screens.run_screen import RunScreen
from screens.run_session import at_rest, engine_state, work_over
from screens.slsm.screen import SLSMScreen
from screens.widgets.key_line import keys_of
from screens.widgets.model_line import ModelLine
from screens.widgets.run_header import RunHeader
from screens.widgets.stage_bar import StageBar
from screens.widgets.timeline import Timeline
from tests.made_run import create_run
from tests.recorded_session import RecordedSession
from tests.synthetic_pool import pool_events
from tests.synthetic_run import SyntheticRun, write_log
from tests.synthetic_slsm import slsm_events
from tests.two_runs import evaluated, make_run

SIZES = [(80, 24), (120, 36), (200, 60)]


class RunApp(App[None]):
    def __init__(self, screen: RunScreen) -> None:
        super().__init__()
        self.first = screen

    def on_mount(self) -> None:
        self.push_screen(self.first)


def finished(folder: Path, upto: int | None = None) -> RecordedSession:
    return RecordedSession(write_log(folder / "events.jsonl", SyntheticRun().events()), folder, upto=upto)


def with_status(session: RecordedSession, state: str) -> RecordedSession:
    """A session whose worker is in this state."""

    class Status(RunStatus):
        @property
        def state(self) -> str:  # type: ignore[override]
            return state

    session.status = object.__new__(Status)
    return session


async def polled(pilot: Pilot[None]) -> RunScreen:
    screen = pilot.app.screen
    assert isinstance(screen, RunScreen)
    for _ in range(3):
        await pilot.pause()
        screen._drawn = None
        screen.poll()
    await pilot.pause()
    return screen


def words(screen: RunScreen) -> list[str]:
    return [key.word for key in keys_of(screen)]


def frame(screen: RunScreen) -> tuple[bool, bool]:
    """Whether stages and time line are drawn."""
    stages, line = screen.query_one(StageBar), screen.query_one(Timeline)
    return stages.size.height > 0 and stages.display, line.size.height > 0 and line.display


def footer(app: App[None]) -> str:
    return list(app.screen._compositor.render_strips())[-1].text


@pytest.mark.parametrize("size", SIZES)
async def test_a_finished_run_is_quiet_until_one_looks_back(tmp_path: Path, size: tuple[int, int]) -> None:
    session = finished(tmp_path)
    last = session.total_events - 1
    async with RunApp(EsmScreen(session)).run_test(size=size) as pilot:
        screen = await polled(pilot)
        assert frame(screen) == (False, False)
        assert not {"Live", "Replay", "Freeze", "Decision"} & set(words(screen))
        await pilot.press("full_stop", "comma", "0")
        assert session.cursor is None, "without the time line its keys do nothing"
        await pilot.press("left_square_bracket")
        screen = await polled(pilot)
        assert session.cursor == last - 1 and frame(screen) == (True, True)
        assert "L Live" in footer(pilot.app) and {"Replay", "Decision"} <= set(words(screen))
        assert f" AS OF EVENT {last - 1:,} of {last:,} " in screen.query_one(RunHeader).render().plain
        assert f"{last - 1:,}/{last:,}" in screen.query_one(Timeline).render().plain
        await pilot.press("enter")
        await polled(pilot)
        assert "L Live" in footer(pilot.app), "also in an opened decision"
        await pilot.press("0")
        assert session.cursor == 0
        await polled(pilot)
        assert " +0:00 " in screen.query_one(Timeline).render().plain, "since the run began"
        await pilot.press("L")
        screen = await polled(pilot)
        assert session.cursor is None and frame(screen) == (False, False)


async def test_nothing_is_drawn_for_a_terminal_that_has_not_taken_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = True
    monkeypatch.setattr("screens.run_screen.terminal_busy", lambda app: busy)
    screen = OverviewScreen(finished(tmp_path))
    async with RunApp(screen).run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        polled: list[bool] = []
        monkeypatch.setattr(screen, "poll", lambda: polled.append(busy))
        screen._drawn_at = 0.0
        screen._tick()
        assert polled == []
        busy = False
        screen._tick()
        assert polled == [False]


@pytest.mark.parametrize(
    ("state", "rests"),
    [("running", False), ("paused", False), ("hung", False), ("prepared", False),
     ("finished", True), ("stopped", True), ("failed", True), ("interrupted", True)],
)  # fmt: skip
def test_what_rests(tmp_path: Path, state: str, rests: bool) -> None:
    session = with_status(finished(tmp_path), state)
    assert engine_state(session) == state and at_rest(session) is rests
    session.frozen = True
    assert not at_rest(session)
    session.frozen, session.cursor = False, 0
    assert not at_rest(session)


def test_a_log_that_is_read_does_not_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = finished(tmp_path)
    assert engine_state(session) == "finished" and at_rest(session)
    monkeypatch.setattr(RecordedSession, "reading", 0.5)
    assert not at_rest(session)


@pytest.mark.parametrize("size", SIZES)
async def test_a_stop_is_shown_until_it_happens(tmp_path: Path, size: tuple[int, int]) -> None:
    session = with_status(finished(tmp_path, upto=60), "running")
    async with RunApp(OverviewScreen(session)).run_test(size=size) as pilot:
        screen = await polled(pilot)
        header = screen.query_one(RunHeader)
        assert frame(screen) == (True, True) and "STOPPING" not in header.render().plain
        assert (
            "S Stop " in footer(pilot.app) and "Freeze" in words(screen) and "Stopping" not in words(screen)
        )
        await pilot.press("S")
        assert session.sent == ["stop"]
        await pilot.pause()
        assert header.render().plain.endswith(" STOPPING ")
        assert "S Stopping" in footer(pilot.app) and "Stop" not in words(screen)
        await pilot.press("S")
        assert session.sent == ["stop"], "asked for once"
        session.stop_requested = False
        with_status(session, "stopped")
        screen = await polled(pilot)
        assert "STOPPING" not in header.render().plain and "Resume" in words(screen)


async def test_a_stop_that_was_asked_for_elsewhere_changes_the_keys(tmp_path: Path) -> None:
    """In the panel of stages, or by another console: the next event shows it."""
    session = with_status(finished(tmp_path, upto=60), "running")
    async with RunApp(OverviewScreen(session)).run_test(size=(120, 36)) as pilot:
        screen = await polled(pilot)
        session.stop_requested = True
        session.grow(1)
        screen.poll()
        await pilot.pause()
        assert "S Stopping" in footer(pilot.app)
        await pilot.press("S")
        [told] = [note.message for note in pilot.app._notifications]
        assert told == "A stop was asked for: the engine stops after its current item." and session.sent == []


def test_a_session_knows_that_a_stop_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = create_run(tmp_path, "demo", seed=1, stages=["eval"], config={}, config_text="{}\n", versions={})
    answers: list[str] = []

    def refuse(directory: RunDirectory, command: str) -> None:
        answers.append(command)
        raise RunError(what="no worker answers", where="", hint="")

    monkeypatch.setattr("app.runs.orders.send", refuse)
    session = RunSession(run.path)
    try:
        session.stop_requested = True
        assert session.stop_requested
        session._send("pause")
        assert session.stop_requested, "another command leaves it"
        session._send("stop")
        assert not session.stop_requested, "a refused stop is none"
        session.stop_requested = True
        session._status = inspect(run.path)  # no worker lives
        assert session.update() and not session.stop_requested, "it has happened"
    finally:
        session.close()
    assert answers == ["pause", "stop"]


async def test_a_run_that_no_worker_has_begun(tmp_path: Path) -> None:
    session = with_status(RecordedSession([], tmp_path), "prepared")
    async with RunApp(OverviewScreen(session)).run_test(size=(120, 36)) as pilot:
        screen = await polled(pilot)
        line = screen.query_one(Timeline).render().plain
        assert "○ NOT STARTED" in line and "END" not in line and "0/0" not in line
        assert "Start" in words(screen) and "Resume" not in words(screen)


@pytest.mark.parametrize(("state", "end"), [("running", "● LIVE"), ("finished", "■ END")])
async def test_the_end_of_the_time_line(tmp_path: Path, state: str, end: str) -> None:
    session = finished(tmp_path, upto=60 if state == "running" else None)
    async with RunApp(OverviewScreen(session)).run_test(size=(120, 36)) as pilot:
        screen = await polled(pilot)
        assert screen.query_one(Timeline).render().plain.split("\n")[0].endswith(end)


async def test_the_header_leads_to_the_error_of_a_failed_run(tmp_path: Path) -> None:
    events = [
        ev.Header(schema_version=1, name="demo", run_id="1", seed=1, stages=["mine"], versions={}),
        ev.StageStarted(stage="mine", unit="problems", total=3),
        ev.StageFailed(
            stage="mine", what="no column", where="train.csv", hint="name it", time=1_760_000_000.0
        ),
    ]
    session = with_status(RecordedSession(write_log(tmp_path / "events.jsonl", events), tmp_path), "failed")
    async with RunApp(EsmScreen(session)).run_test(size=(80, 24)) as pilot:
        await polled(pilot)  # what failed before the screen was opened does not come up by itself
        await pilot.press("E")
        assert pilot.app.screen is pilot.app.screen_stack[1], "E belongs to the overview and the list of runs"
        await pilot.click(RunHeader, offset=(76, 0))
        await pilot.pause()
        assert type(pilot.app.screen).__name__ == "ErrorPanel"


async def test_a_click_on_the_header_opens_a_method(tmp_path: Path) -> None:
    session = finished(tmp_path)
    async with RunApp(OverviewScreen(session)).run_test(size=(80, 24)) as pilot:
        screen = await polled(pilot)
        asked: list[int] = []
        screen.action_method = lambda number: asked.append(number)  # type: ignore[method-assign]
        await pilot.click(RunHeader, offset=(12, 0))  # `Overview 1 ESM ✓`: the name begins in column 9
        assert asked == [1]


async def test_an_opened_decision_says_how_to_go_on_and_back(tmp_path: Path) -> None:
    async with RunApp(EsmScreen(finished(tmp_path))).run_test(size=(80, 24)) as pilot:
        await polled(pilot)
        await pilot.press("g", "enter")
        await polled(pilot)
        assert "← → Others" in footer(pilot.app) and "esc Back" in footer(pilot.app)


async def test_talk_does_not_take_the_keys_of_who_comes_back(tmp_path: Path) -> None:
    session = RecordedSession(write_log(tmp_path / "events.jsonl", slsm_events()), tmp_path)
    first = SLSMScreen(session)
    async with RunApp(first).run_test(size=(120, 36)) as pilot:
        await polled(pilot)
        await pilot.press("3")
        assert first.chat.field.has_focus, "who chooses Talk begins to type"
        left = first.view()
    again = SLSMScreen(session)
    again.left_view = left
    async with RunApp(again).run_test(size=(120, 36)) as pilot:
        await polled(pilot)
        assert again.tabs.active == 2 and not again.chat.field.has_focus
        await pilot.press("1")
        assert again.tabs.active == 0 and again.chat.field.value == ""


async def test_the_report_is_written_from_inside(tmp_path: Path) -> None:
    run = create_run(tmp_path, "demo", seed=1, stages=["eval"], config={}, config_text="{}\n", versions={})
    entries = write_log(run.events, SyntheticRun(examples=4).events())
    async with RunApp(OverviewScreen(RecordedSession(entries, run.path))).run_test(size=(80, 24)) as pilot:
        screen = await polled(pilot)
        assert "Report" in words(screen)
        await pilot.press("R")
        await screen.workers.wait_for_complete()
        await pilot.pause()
        told = [note.message for note in pilot.app._notifications]
    (page,) = (run.path / "exports").glob("report-*.html")
    assert page.with_suffix(".md").read_text().startswith(f"# demo/{run.path.name}")
    charts = len(list(page.parent.glob("report-*.svg")))
    beside = f"\nand {charts} charts beside them" if charts else ""
    assert f"{page}\n{page.with_suffix('.md')}{beside}" in told


def test_a_report_is_written_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-very-secret")
    run = make_run(tmp_path, "r", [evaluated("greedy", "q", True, text="say sk-very-secret")])
    Notes(run).add(0, "", "the key is sk-very-secret")
    texts = [path.read_text() for path in write_report(run)]
    assert texts and all("the key is " in text and "very-secret" not in text for text in texts)


@pytest.mark.parametrize(
    ("pictures", "said"), [(0, []), (1, ["and 1 chart beside them"]), (17, ["and 17 charts beside them"])]
)
def test_charts_of_a_report_are_counted(pictures: int, said: list[str], tmp_path: Path) -> None:
    """Their names would push those of the pages off a small screen."""
    drawing = Drawing(4, 4, [])
    files = exports._write(Document("r", [Picture(drawing, "chart")] * pictures), tmp_path, "r")
    assert [file.suffix for file in files] == [".html", ".md", *[".svg"] * pictures]
    told: list[str] = []
    screen: Any = SimpleNamespace(notify=lambda text, **more: told.append(text))
    work: Any = RunScreen.write_files  # in a thread of a screen's; here at once
    work.__wrapped__(screen, lambda: files)
    assert told[0].splitlines() == [*map(str, files[:2]), *said]


def test_a_report_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunError):
        write_report(tmp_path)


TEXT = """\
# Method

It does this.

*Cases* has a row for each case. `d` goes
on. *Results* compares them; *Training* has curves.

`/` filters *Results* too."""


@pytest.mark.parametrize(
    ("shown", "beginnings"),
    [
        (
            "Cases",
            ["# Method", "*Cases* has a row", "It does", "*Results* compares them;", "*Training*", "`/`"],
        ),
        ("Results", ["# Method", "*Results* compares them;", "It does", "*Cases*", "*Training*", "`/`"]),
        ("Training", ["# Method", "*Training* has curves.", "It does", "*Cases*", "*Results*", "`/`"]),
        ("Files", ["# Method", "It does", "*Cases*", "*Results*", "*Training*", "`/`"]),
    ],
)
def test_the_help_of_a_tab_begins_with_that_tab(shown: str, beginnings: list[str]) -> None:
    parts = tab_first(TEXT, ["Cases", "Results", "Training", "Files"], shown).split("\n\n")
    assert len(parts) == len(beginnings)
    assert all(part.startswith(start) for part, start in zip(parts, beginnings, strict=True))


async def test_help_has_the_text_first(tmp_path: Path) -> None:
    from app.shell import SteerApp

    app = SteerApp(outputs=tmp_path / "outputs")
    session = RecordedSession(write_log(tmp_path / "events.jsonl", pool_events()), tmp_path)
    async with app.run_test(size=(120, 60)) as pilot:
        await app.push_screen(MethodScreen(session, "Pool"))
        await pilot.pause()
        await pilot.press("question_mark")
        await pilot.pause()
        text = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        text = text.split("Help", 1)[1]
        assert (
            "Pool: demonstrations" in text.split("in the table")[0]
            and "Sort" in text.split("in the table")[1]
        )


async def test_a_stopped_stage_says_how_much_is_kept(tmp_path: Path) -> None:
    events = [
        ev.Header(seq=0, schema_version=1, name="demo", run_id="1", seed=1, stages=["mine"], versions={}),
        ev.StageStarted(seq=1, stage="mine", unit="problems", total=30),
        ev.StageProgress(seq=2, stage="mine", done=12, total=30, elapsed=1.0),
        ev.WorkerStopped(seq=3, status="stopped", stage="mine"),
        ev.Notice(seq=4, text="later"),
    ]
    session = RecordedSession(write_log(tmp_path / "events.jsonl", events), tmp_path)
    session.seek(3)  # looked back at: the stages are drawn
    async with RunApp(OverviewScreen(session)).run_test(size=(80, 24)) as pilot:
        screen = await polled(pilot)
        assert "12/30 kept" in screen.query_one(StageBar).render().plain


async def test_while_it_stops_what_is_alive_and_what_has_stopped_have_signs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [RunDirectory(tmp_path / name) for name in ("a", "b")]
    states = [LeftRun(runs[0], "running", True), LeftRun(runs[1], "stopped", False)]
    monkeypatch.setattr("screens.leaving.states_now", lambda _: states)
    monkeypatch.setattr("screens.leaving.request_stop", lambda _: None)
    async with App[None]().run_test(size=(120, 36)) as pilot:
        await pilot.app.push_screen(WaitingScreen(runs))
        await pilot.pause()
        text = str(pilot.app.screen.query_one("#waiting", Static).content)
        assert f"● {runs[0].path}\n■ {runs[1].path}" in text


@pytest.mark.parametrize(("low", "tone"), [(0.01, "good"), (-0.01, "warn")])
def test_what_is_not_shown_warns_in_the_results(tmp_path: Path, low: float, tone: str) -> None:
    """The interval of the one includes zero."""
    verdict = Verdict(
        method="esm", baseline="greedy", metric="accuracy", n=100, value=0.55, baseline_value=0.5, difference=0.05,
        low=low, high=0.09,
    )  # fmt: skip
    done = ev.StageFinished(stage="eval", seconds=1.0, verdict=verdict)
    greedy = ev.MethodEvaluated(method="greedy", n=100, accuracy=0.5, mean_tokens=80.0)
    session = RecordedSession(write_log(tmp_path / "events.jsonl", [greedy, done]), tmp_path)
    sentence, *tables = EsmScreen(session).result_blocks(session.state)
    assert isinstance(sentence, Paragraph) and sentence.tone == tone
    assert [type(block) for block in tables] == [Table, Table], "the figures stand below what they say"


@pytest.mark.parametrize(
    ("statuses", "stages", "over"),
    [
        (("finished", "running"), ("mine", "eval"), False),
        (("finished", "waiting"), ("mine", "eval"), False),
        (("finished", "running"), ("mine",), True),
        (("finished", "skipped"), ("mine", "eval"), True),
        (("finished", "stopped"), ("mine", "eval"), False),
        (("finished", "running"), ("pool",), False),
    ],
)
def test_work_on_a_table_is_over_when_all_its_stages_are_done(
    statuses: tuple[str, str], stages: tuple[str, ...], over: bool
) -> None:
    """While the run goes on, and never in the past."""
    state = RunState()
    state.status = "running"
    state.stages = {
        name: StageState(name, status) for name, status in zip(("mine", "eval"), statuses, strict=True)
    }
    session: Any = SimpleNamespace(cursor=None, status=None, state=state, behind=0)
    assert work_over(session, stages) == over
    session.cursor = 5
    assert not work_over(session, stages)
    session.cursor, state.status = None, "failed"
    assert work_over(session, stages) == over, "of one that broke off the newest row says where"
    state.status = "stopped"
    assert work_over(session, stages)
    state.status = "finished"
    assert work_over(session, stages)
    session.behind = 3
    assert not work_over(session, stages), "what is shown is not yet its end"


@pytest.mark.parametrize(
    ("state", "offered"),
    [
        ("running", "freeze replay pause stop leave_work"),
        ("paused", "freeze replay continue_engine stop leave_work"),
        ("hung", "freeze replay pause stop"),
        ("starting", "freeze replay"),
        ("prepared", "freeze replay start"),
        ("stopped", "resume"),
        ("interrupted", "resume"),
        ("failed", "resume show_error"),
        ("finished", ""),
    ],
)
def test_which_keys_there_are(state: str, offered: str, tmp_path: Path) -> None:
    """While it follows the work and no stop was asked for; then the reverse; in the past; and frozen."""
    keys = (
        "freeze", "thaw", "replay", "seek_live", "pause", "continue_engine", "stop", "stopping", "resume", "start",
        "show_error", "follow_work", "leave_work",
    )  # fmt: skip
    session = finished(tmp_path, upto=60)
    status = inspect(
        create_run(tmp_path, "demo", seed=1, stages=[], config={}, config_text="", versions={}).path
    )
    failure = "no disk" if state == "failed" else ""
    session.status = dataclasses.replace(status, state=state, failure=failure)
    screen = OverviewScreen(session)
    screen.following = True

    def there() -> list[str]:
        return [key for key in keys if screen.check_action(key, ())]

    assert there() == offered.split()
    screen.following, session.stop_requested = False, True
    swapped = offered.replace(" stop", " stopping").replace("leave_work", "follow_work").split()
    assert there() == swapped
    session.seek(3)
    rest = [key for key in swapped if key not in ("freeze", "replay")]
    assert there() == ["replay", "seek_live", *rest]
    session.seek(None)
    session.freeze()
    assert there() == ["thaw", "replay", *rest]


def test_the_error_that_only_the_runs_folder_has(tmp_path: Path) -> None:
    session = finished(tmp_path, upto=60)
    status = inspect(
        create_run(tmp_path, "demo", seed=1, stages=[], config={}, config_text="", versions={}).path
    )
    screen = OverviewScreen(session)
    assert screen._fault() is None
    session.status = dataclasses.replace(status, failure="no disk")
    assert screen._fault() == Fault(
        "The run failed",
        "no disk",
        str(status.directory.path),
        "correct what it names (values are in config.yaml there); r resumes the run, finished work is kept",
    )


async def test_keys_that_lead_to_methods_and_decisions(tmp_path: Path) -> None:
    """There are two methods: a third number leads nowhere. A decision on and one back is where one was."""
    events = [*SyntheticRun(4, 2, 2).events(), *pool_events()]
    session = RecordedSession(
        [(msgspec.structs.replace(event, seq=seq), seq, 1) for seq, event in enumerate(events)], tmp_path
    )
    asked: list[tuple[str, bool]] = []

    class Asking(RunApp):
        @on(SystemRequested)
        def _asked(self, message: SystemRequested) -> None:
            asked.append((message.name, message.followed))

    async with Asking(OverviewScreen(session)).run_test(size=(120, 36)) as pilot:
        screen = await polled(pilot)
        await pilot.press("3", "2", "1")
        screen.action_overview()
        await pilot.pause()
        assert asked == [("Pool", False), ("ESM", False), ("Overview", False)]
        stops = [seq for seq, event in enumerate(events) if isinstance(event, ev.StageStarted)]
        session.seek(stops[0])
        screen.action_stop_at(1)
        later = session.cursor
        screen.action_stop_at(-1)
        assert later is not None and later > stops[0] == session.cursor
        screen.action_step_event(-1)
        assert session.cursor == stops[0] - 1
        screen.action_seek_start()
        assert session.cursor == 0
        timeline = screen.query_one(Timeline)
        screen.action_replay()
        assert timeline.replaying
        screen.action_seek_live()
        assert session.cursor is None and not timeline.replaying, "nothing leads away from the end"

        def write() -> list[str]:
            raise OSError("no room")

        screen.write_files(write)
        await pilot.app.workers.wait_for_complete()
        screen.write_files(lambda: ["a.html", "a.md"])
        await pilot.app.workers.wait_for_complete()
        assert [(note.title, note.message, note.severity) for note in pilot.app._notifications] == [
            ("", "Nothing was written: no room", "error"), ("HTML and Markdown written", "a.html\na.md", "information"),
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("now", "changes", "drawn"),
    [
        (0.44, {}, False),
        (0.46, {}, True),
        (0.1, {"busy": True}, True),
        (0.1, {"cursor": 3}, True),
        (0.1, {"frozen": True}, True),
        (0.1, {"cursor": 3, "replaying": True}, False),
        (0.1, {"asked": -0.8}, True),
        (0.1, {"asked": -0.9}, False),
    ],
)
def test_when_it_is_drawn(
    now: float, changes: dict[str, Any], drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice a second; at once for a second after another moment was asked for, but not in a replay."""
    polls: list[float] = []
    session = SimpleNamespace(cursor=changes.get("cursor"), frozen=changes.get("frozen", False))
    timeline = SimpleNamespace(replaying=changes.get("replaying", False))
    screen: Any = SimpleNamespace(
        session=session, app=None, busy=changes.get("busy", False), _moment=(None, False), _drawn_at=0.0,
        _asked_at=changes.get("asked", -9.0), poll=lambda: polls.append(now), query_one=lambda kind: timeline,
    )  # fmt: skip
    monkeypatch.setattr("screens.run_screen.terminal_busy", lambda app: False)
    monkeypatch.setattr("screens.run_screen.time", SimpleNamespace(monotonic=lambda: now))
    RunScreen._tick(screen)
    assert bool(polls) == drawn
    RunScreen._tick(screen)
    assert len(polls) == 2 * drawn, "nothing else was asked for meanwhile"


async def test_a_failure_that_happens_while_one_looks_comes_up_once(tmp_path: Path) -> None:
    """Not in the past, and not one from before the screen was opened."""
    later = time.time() + 1000
    events = [
        ev.Header(seq=0, schema_version=1, name="demo", run_id="1", seed=1, stages=["mine"], versions={}),
        ev.StageStarted(seq=1, stage="mine", unit="problems", total=3),
        ev.StageFailed(seq=2, stage="mine", what="no column", time=later),
        ev.Notice(seq=3, text="x", time=later),
    ]
    session = RecordedSession([(event, at, 1) for at, event in enumerate(events)], tmp_path, upto=2)
    async with RunApp(EsmScreen(session)).run_test(size=(80, 24)) as pilot:
        screen = await polled(pilot)
        session.grow(1)
        screen.poll()
        await pilot.pause()
        assert isinstance(pilot.app.screen, ErrorPanel) and pilot.app.screen.fault.what == "no column"
        assert pilot.app.screen.active_bindings["r"].binding.action == "resume"
        await pilot.press("escape")
        session.grow(1)
        screen.poll()
        await pilot.pause()
        assert pilot.app.screen is screen
        session.seek(2)
        screen._failure_read = 0.0
        screen.poll()
        await pilot.pause()
        assert pilot.app.screen is screen, "in the past it does not come up by itself"
        screen.action_show_error()
        await pilot.pause()
        assert "r" not in pilot.app.screen.active_bindings, "who looks at the past resumes nothing"
        await pilot.press("escape")
        session.seek(None)
        screen._opened_at = later
        screen.poll()
        await pilot.pause()
        assert pilot.app.screen is screen, "it failed before one came"


@pytest.mark.parametrize(
    ("title", "at_work", "changes", "asked"),
    [
        ("Overview", True, {}, ["ESM"]),
        ("ESM", True, {}, []),
        ("Overview", False, {}, []),
        ("Overview", True, {"following": False}, []),
        ("Overview", True, {"cursor": 3}, []),
        ("Overview", True, {"frozen": True}, []),
    ],
)
def test_where_following_leads(title: str, at_work: bool, changes: dict[str, Any], asked: list[str]) -> None:
    """To the method at work, unless it is shown, or another moment is."""
    state = RunState()
    state.stages = {"mine": StageState("mine", "running" if at_work else "waiting")}
    known = {"cursor": None, "frozen": False, "status": None, "state": state, "log_is_cut": False}
    session = SimpleNamespace(**(known | {name: changes[name] for name in changes if name != "following"}))
    posted: list[str] = []
    screen: Any = SimpleNamespace(
        session=session, following=changes.get("following", True), TITLE_WORD=title,
        post_message=lambda message: posted.append(message.name),
    )  # fmt: skip
    RunScreen._go_with_the_work(screen)
    assert posted == asked


STATES = ("running", "hung", "paused", "stopped", "interrupted", "failed", "finished", "prepared")
KEYS_OF_STATES = {
    "pause": {"running", "hung"},
    "continue_engine": {"paused"},
    "stop": {"running", "paused", "hung"},
    "resume": {"stopped", "interrupted", "failed"},
    "start": {"prepared"},
    "follow_work": {"running", "paused"},
}


@pytest.mark.parametrize("state", STATES)
def test_which_keys_a_state_of_the_engine_has(state: str) -> None:
    status = SimpleNamespace(state=state)
    session = SimpleNamespace(status=status, stop_requested=False, frozen=False, cursor=None)
    screen: Any = SimpleNamespace(session=session, following=False)
    offered = {key for key in KEYS_OF_STATES if RunScreen.check_action(screen, key, ())}
    assert offered == {key for key, states in KEYS_OF_STATES.items() if state in states}


@pytest.mark.parametrize(("frozen", "cursor"), [(False, None), (True, None), (False, 3)])
def test_which_keys_a_view_has(frozen: bool, cursor: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is frozen already is not frozen again; the way back is there where the view is in the past."""
    monkeypatch.setattr("screens.run_screen.at_rest", lambda session: False)
    session = SimpleNamespace(status=SimpleNamespace(state="running"), frozen=frozen, cursor=cursor)
    screen: Any = SimpleNamespace(session=session)
    offered = {key for key in ("freeze", "thaw", "seek_live") if RunScreen.check_action(screen, key, ())}
    assert offered == {("thaw" if frozen else "freeze" if cursor is None else "seek_live")}


async def test_a_covered_screen_neither_looks_nor_speaks(tmp_path: Path) -> None:
    """A failure of the run does not come up over a dialog of the list of notes."""
    later = time.time() + 1000
    events = [
        ev.Header(seq=0, schema_version=1, name="demo", run_id="1", seed=1, stages=["mine"], versions={}),
        ev.StageStarted(seq=1, stage="mine", unit="problems", total=3),
        ev.StageFailed(seq=2, stage="mine", what="no column", time=later),
    ]
    session = RecordedSession([(event, at, 1) for at, event in enumerate(events)], tmp_path, upto=2)
    async with RunApp(OverviewScreen(session)).run_test(size=(80, 24)) as pilot:
        screen = await polled(pilot)
        await pilot.app.push_screen(NotesScreen([tmp_path]))
        await pilot.app.push_screen(dialog := AskScreen("A note", lambda text: text))
        session.grow(1)
        screen.poll()
        await pilot.pause()
        assert pilot.app.screen is dialog and screen.session.state.failure is not None


async def test_a_screen_is_drawn_below_a_dialog_and_not_below_another_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does it follow the work from there."""
    session = finished(tmp_path, upto=8)
    async with RunApp(OverviewScreen(session)).run_test(size=(80, 24)) as pilot:
        screen = await polled(pilot)
        drawn: list[str] = []
        monkeypatch.setattr(screen, "show", lambda: drawn.append(pilot.app.screen.name or ""))
        for above in (AskScreen("A note", lambda text: text), NotesScreen([tmp_path])):
            above._name = type(above).__name__
            await pilot.app.push_screen(above)
            session.grow(1)
            screen.poll()
            await pilot.press("escape")
        assert drawn[0] == "AskScreen" and "NotesScreen" not in drawn
        session.grow(1)
        screen.poll()
        assert len(drawn) > 1 and not drawn[-1]


async def test_the_line_of_the_model_comes_and_goes_with_its_work(tmp_path: Path) -> None:
    events = [
        ev.Header(seq=0, schema_version=1, name="demo", run_id="1", seed=1, stages=["mine"], versions={}),
        ev.StageStarted(seq=1, stage="mine", unit="problems", total=3),
        ev.ModelWorking(seq=2, stage="mine", sequences=2, done=1, tokens=30, tokens_per_second=6.0),
        ev.StageFinished(seq=3, stage="mine", seconds=9.0),
    ]
    session = RecordedSession([(event, at, 1) for at, event in enumerate(events)], tmp_path, upto=2)
    async with RunApp(OverviewScreen(session)).run_test(size=(80, 24)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, OverviewScreen)
        shown: list[bool] = []
        for more in (0, 1, 1):
            session.grow(more)
            screen.poll()
            shown.append(screen.query_one(ModelLine).display)
        assert shown == [False, True, False]


async def test_the_keys_below_change_when_the_view_is_frozen(tmp_path: Path) -> None:
    session = finished(tmp_path, upto=260)
    async with RunApp(EsmScreen(session)).run_test(size=(200, 60)) as pilot:
        await polled(pilot)
        seen: list[str] = []
        for _ in range(2):
            await pilot.press("space")
            await pilot.pause()
            seen.append(footer(pilot.app))
        assert ["Unfreeze" in line for line in seen] == [True, False] and "Freeze" in seen[1]


async def test_the_keys_below_change_when_the_log_has_been_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a finished run, whose reading takes more than one look."""
    monkeypatch.setattr(RecordedSession, "reading", 0.5)
    session = finished(tmp_path)
    async with RunApp(EsmScreen(session)).run_test(size=(200, 60)) as pilot:
        await polled(pilot)
        assert "Freeze" in footer(pilot.app)
        monkeypatch.setattr(RecordedSession, "reading", None)
        await polled(pilot)
        assert "Freeze" not in footer(pilot.app)


async def test_each_failure_of_a_run_comes_up(tmp_path: Path) -> None:
    """It is resumed and fails again while one looks; what the session has to say is said with its weight."""
    later = time.time() + 1000
    events = [
        ev.Header(seq=0, schema_version=1, name="demo", run_id="1", seed=1, stages=["mine"], versions={}),
        ev.StageStarted(seq=1, stage="mine", unit="problems", total=3),
        ev.StageFailed(seq=2, stage="mine", what="no column", time=later),
        ev.StageStarted(seq=3, stage="mine", unit="problems", total=3, time=later + 1),
        ev.StageFailed(seq=4, stage="mine", what="no row", time=later + 2),
    ]
    session = RecordedSession([(event, at, 1) for at, event in enumerate(events)], tmp_path, upto=2)
    session.take_messages = lambda: [UserMessage("slow", "warning")]  # type: ignore[method-assign]
    async with RunApp(OverviewScreen(session)).run_test(size=(80, 24)) as pilot:
        screen = await polled(pilot)
        assert {(note.message, note.severity) for note in pilot.app._notifications} == {("slow", "warning")}
        session.take_messages = list  # type: ignore[method-assign]
        told = []
        for more in (1, 2):
            session.grow(more)
            screen.poll()
            await pilot.pause()
            panel = pilot.app.screen
            told.append(panel.fault.what if isinstance(panel, ErrorPanel) else "")
            await pilot.press("escape")
        assert told == ["no column", "no row"]
