"""A sweep on its screen, and in the list of runs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import pytest
from textual.app import App
from textual.message import Message

from app.swept.progress import SweepProgress
from engine.errors import SteerError
from engine.events import Header, StageProgress, StageStarted, encode
from engine.run.lock import RunLock
from engine.statistics import Interval
from engine.sweep.results import SettingResult, SweepResults
from engine.sweep.sweep import Axis, Point, SweepFolder, SweepRecord
from screens.messages import CompareRequested, ErrorUnforeseen, RunRequested, SweepRequested
from screens.panels.error_panel import ErrorPanel, Fault
from screens.sweep.screen import SweepScreen, _title
from screens.widgets.key_line import keys_of
from tests.console import drawn, until
from tests.engine.sweep.test_results import make_sweep
from tests.named_tones import parts
from tests.runs_app import RunsApp, esm_verdict


class SweepApp(App[None]):
    """Just the screen; notes what it asks for."""

    def __init__(self, folder: SweepFolder) -> None:
        super().__init__()
        self.sweep = SweepScreen(folder.path)
        self.asked: list[Message] = []

    def on_mount(self) -> None:
        self.push_screen(self.sweep)

    def on_run_requested(self, message: RunRequested) -> None:
        self.asked.append(message)

    def on_compare_requested(self, message: CompareRequested) -> None:
        self.asked.append(message)

    def on_error_unforeseen(self, message: ErrorUnforeseen) -> None:
        self.asked.append(message)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_table_and_remarks(tmp_path: Path, size: tuple[int, int]) -> None:
    folder = make_sweep(tmp_path, [20, 38, 21])
    app = SweepApp(folder)
    async with app.run_test(size=size) as pilot:
        screen = app.sweep
        await until(lambda: len(screen.source) == 3, "the settings")
        await pilot.pause()
        text = drawn(app)
        assert (
            "★ online.L=2" in text
            and "0.950" in text
            and "6 of 6 runs finished (3 settings × 2 seeds)" in text
        )
        assert "better than each of the 2 others" in " ".join(text.split())
        words = [key.word for key in keys_of(screen)]
        assert "Stop" not in words
        await pilot.press("enter", "c")
        await pilot.pause()
        own, best = (folder.path.parent / name for name in ("1-0-0", "1-1-0"))
        assert isinstance(app.asked[0], RunRequested) and app.asked[0].run_dir == own
        assert isinstance(app.asked[1], CompareRequested) and app.asked[1].runs == (best, own)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is not screen


async def test_a_sweep_is_read_again_while_it_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = SweepApp(make_sweep(tmp_path, [20, 38]))
    reads: list[bool] = []
    read = app.sweep.reader.read
    monkeypatch.setattr(app.sweep.reader, "read", lambda: reads.append(True) or read())
    async with app.run_test(size=(100, 30)):
        for count in (1, 2, 3):
            await until(lambda count=count: len(reads) >= count and not app.sweep._reading, "a reading")
            app.sweep.look()


async def test_what_is_no_sweep_says_so(tmp_path: Path) -> None:
    app = SweepApp(SweepFolder(tmp_path / "none"))
    async with app.run_test(size=(100, 30)):
        await until(lambda: "this is not a sweep" in drawn(app), "the error")


class Runs(RunsApp):
    def on_sweep_requested(self, message: SweepRequested) -> None:
        self.asked.append(message)


async def test_in_the_list_of_runs_a_sweep_is_a_heading(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, [20, 38])
    app = Runs(tmp_path)
    async with app.run_test(size=(160, 30)) as pilot:
        await until(app.rows, "the list")
        assert len(app.rows()) == 1 and "sweep online.L" in app.rows()[0] and "4 runs" in app.rows()[0]
        assert "0.950" in app.rows()[0]
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.asked[-1], SweepRequested) and app.asked[-1].folder == folder.path
        await pilot.press("space", "down")
        await pilot.pause()
        assert len(app.rows()) == 5 and app.runs.selected is not None
        await pilot.press("o")
        await pilot.pause()
        assert isinstance(app.asked[-1], SweepRequested) and app.asked[-1].folder == folder.path
        await pilot.press("up", "space")
        await pilot.pause()
        assert len(app.rows()) == 1 and not app.runs.about.has_class("-empty")
        app.runs.bar.set("state:finished")
        await pilot.pause()
        assert len(app.rows()) == 5 and "filter state:finished: 4 " in str(app.runs.title_line.content)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_a_sweep_at_work_says_how_far_it_is(tmp_path: Path, size: tuple[int, int]) -> None:
    folder = make_sweep(tmp_path, [20, 38], done=3)
    record = folder.read()
    record.status, record.choose_on = "running", "dev"
    folder.write(record)
    runs = [folder.run(point) for point in record.points[:3]]
    states = ("finished", 60.0), ("finished", 100.0), ("running", 0.0)
    for run, (status, seconds) in zip(runs, states, strict=True):
        made = run.read()
        made.status = made.stages["eval"].status = status
        made.stages["eval"].seconds = seconds
        run.write(made)
    run = runs[-1]
    run.events.write_bytes(
        encode(Header(schema_version=1, name="name", run_id="1-1-0", seed=0, stages=["eval"]))
        + encode(StageStarted(stage="eval", total=200, done=0, unit="problems"))
        + encode(StageProgress(stage="eval", done=50, total=200, elapsed=30.0))
    )
    locks = RunLock(run.lock), RunLock(folder.lock)
    app = SweepApp(folder)
    async with app.run_test(size=size) as pilot:
        await until(lambda: len(app.sweep.source) == 2, "the settings")
        await pilot.pause()
        text = drawn(app)
        assert "sweep   45%, about 3:40 left  2 of 5 runs finished (2 settings × 2 seeds + 1" in text
        assert "At work: online.L=2 seed=0, eval 50 of 200 problems" in text
        assert "▶ 12%" in text
        row = next(line for line in text.splitlines() if "★ online.L=1" in line)
        assert "✓" in row and "0.500" in row
    for lock in locks:
        lock.release()


def two_fields(folder: Path, status: str = "finished", alive: bool = False) -> SweepResults:
    """The last of four settings has no result yet."""
    axes = [Axis("online.L", [1, 2]), Axis("online.k_scale", [0.5, 1.0]), Axis("run.seed", [0, 1])]
    figures = {
        (1, 0.5): (0.5, 80.0),
        (1, 1.0): (0.75, 1_234.4),
        (2, 0.5): (0.95, 60.0),
        (2, 1.0): (None, None),
    }
    settings = [
        SettingResult(
            {"online.L": length, "online.k_scale": scale}, (Point(1, "1", {}),), ("finished",), n=40, value=value,
            tokens=tokens, verdict=esm_verdict(0.5),
            gain=None if value is None else Interval(value - 0.5, value - 0.6, value - 0.4),
        )
        for (length, scale), (value, tokens) in figures.items()
    ]  # fmt: skip
    record = SweepRecord(
        name="n", created=1.0, status=status, specs=["online.L=1,2", "run.seed=0..1"], axes=axes, points=[]
    )
    return SweepResults(SweepFolder(folder), record, {}, settings, None, (), None, alive)


@pytest.mark.parametrize(
    ("status", "alive", "offered"),
    [
        ("running", True, ["stop_sweep"]),
        ("running", False, ["resume_sweep"]),
        ("stopped", False, ["resume_sweep"]),
        ("failed", False, ["resume_sweep"]),
        ("prepared", False, ["resume_sweep"]),
        ("finished", False, []),
    ],
)
def test_what_can_be_done_with_a_sweep(status: str, alive: bool, offered: list[str], tmp_path: Path) -> None:
    screen = SweepScreen(tmp_path)
    keys = ("stop_sweep", "resume_sweep")
    assert [key for key in keys if screen.check_action(key, ())] == []
    screen.results = two_fields(tmp_path, status, alive)
    assert [key for key in keys if screen.check_action(key, ())] == offered
    title = _title(screen.results, SweepProgress([], {}, 0.5, None)).plain
    state = {"finished": "", "running": "interrupted"}.get(status, status)
    said = "50%, time left not known yet" if alive else state
    assert title.startswith(f" sweep   {said}  0 of 0 runs finished ")
    assert title.endswith("   online.L=1,2 run.seed=0..1")


async def test_stop_and_resume_tell_what_came_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue that cannot be started is told in a panel; a setting without a run cannot be opened."""
    folder = make_sweep(tmp_path, [20, 38], done=2)
    asked: list[str] = []

    def start(path: Path) -> None:
        asked.append("start")
        if len(asked) > 2:
            raise SteerError(what="no room")

    monkeypatch.setattr("screens.sweep.screen.start_queue", start)
    monkeypatch.setattr("screens.sweep.screen.stop_queue", lambda path: asked.append("stop") or True)
    record = folder.read()
    record.status = "stopped"
    folder.write(record)
    app = SweepApp(folder)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(lambda: len(app.sweep.source) == 2, "the settings")
        await pilot.press("down", "enter", "r")
        app.sweep.action_stop_sweep()
        app.sweep.action_resume_sweep()
        await pilot.pause()
        assert [note.message for note in app._notifications] == [
            "This setting has not begun.",
            "The sweep goes on.",
            "The sweep stops: its runs end after their current item. r resumes it.",
        ]
        assert isinstance(app.screen, ErrorPanel)
        assert (app.screen.fault.title, app.screen.fault.what) == ("The sweep was not resumed", "no room")
    assert asked == ["start", "stop", "start"]


def test_only_a_whole_setting_is_compared_with_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the best with itself, nor one of which runs are still to come."""
    screen = SweepScreen(tmp_path)
    results = two_fields(tmp_path)
    whole, other, best, begun = results.settings
    begun = dataclasses.replace(
        begun, points=(Point(1, "1", {}), Point(2, "2", {})), states=("finished", "running")
    )
    screen.results = dataclasses.replace(results, settings=[whole, other, best, begun])
    offered = []
    for one in (whole, best, begun, None):
        assert one is None or (one is begun) != one.whole
        row = None if one is None else SimpleNamespace(result=one)
        monkeypatch.setattr(SweepScreen, "selected", row)
        offered.append(screen.check_action("compare_best", ()))
    assert offered == [True, False, False, False]
    assert screen.check_action("back", ())


def test_the_tones_of_the_title(tmp_path: Path) -> None:
    title = _title(two_fields(tmp_path, "stopped"), SweepProgress([], {}, 0.5, None))
    assert parts(title) == [
        (" sweep ", "bold reverse"), ("  stopped", "bold"),
        ("  0 of 0 runs finished (4 settings × 0 seeds)", ""), ("   online.L=1,2 run.seed=0..1", "dim"),
    ]  # fmt: skip


async def test_a_sweep_that_is_not_shown_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor a second time while it is read."""
    app = SweepApp(make_sweep(tmp_path, [20, 38]))
    async with app.run_test(size=(100, 30)):
        screen = app.sweep
        await until(lambda: len(screen.source) == 2 and not screen._reading, "the settings")
        begun: list[bool] = []
        monkeypatch.setattr(screen, "_read", lambda: begun.append(True))
        screen.look()
        screen.look()
        assert begun == [True]
        screen._reading = False
        await app.push_screen(ErrorPanel(Fault("It failed", "no room")))
        screen.look()
        assert begun == [True] and not screen._reading


async def test_a_setting_opens_its_first_run_and_the_best_is_not_compared_with_itself(tmp_path: Path) -> None:
    app = SweepApp(make_sweep(tmp_path, [20, 38]))
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.sweep
        await until(lambda: len(screen.source) == 2, "the settings")
        assert "Compare" in " ".join(key.word for key in keys_of(screen))
        await pilot.press("down")
        assert screen.selected is not None and screen.selected.sign == "★"
        screen.action_compare_best()
        await pilot.press("enter")
        await pilot.pause()
        [asked] = app.asked
        assert isinstance(asked, RunRequested) and asked.run_dir.name == "1-1-0"


async def test_the_keys_below_are_those_of_the_sweep_as_it_is_now(tmp_path: Path) -> None:
    app = SweepApp(make_sweep(tmp_path, [20, 38]))
    async with app.run_test(size=(120, 30)) as pilot:
        screen = app.sweep
        await until(lambda: len(screen.source) == 2 and not screen._reading, "the settings")
        screen._reading = True  # nothing is read any more
        seen = []
        for status, alive in (("running", True), ("stopped", False), ("finished", False)):
            screen.show_results(two_fields(tmp_path, status, alive), SweepProgress([], {}, 0.5, None))
            await pilot.pause()
            keys = drawn(app).splitlines()[-1]
            seen.append([word for word in ("Stop", "Resume") if word in keys])
        assert seen == [["Stop"], ["Resume"], []]


async def test_why_a_sweep_cannot_be_read_stands_below_the_rows_of_before(tmp_path: Path) -> None:
    """Until it can be read again."""
    (tmp_path / "[a]").mkdir()
    folder = make_sweep(tmp_path / "[a]", [20, 38])
    record = folder.read()
    app = SweepApp(folder)
    async with app.run_test(size=(120, 30)):
        screen = app.sweep
        await until(lambda: len(screen.source) == 2 and not screen._reading, "the settings")
        folder.state.unlink()
        screen.look()
        await until(lambda: "this is not a sweep" in drawn(app), "the error", seconds=9)
        assert "★ online.L=2" in drawn(app) and "/[a]/" in str(screen.about.render())
        folder.write(record)
        screen.look()
        await until(lambda: "this is not a sweep" not in drawn(app), "the sweep", seconds=9)


async def test_an_error_that_nobody_foresaw_is_shown_and_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The screen stayed as it was, for ever; it is read again every second."""
    app = SweepApp(make_sweep(tmp_path, [20, 38]))

    def read() -> None:
        raise ValueError("no [such] thing")

    monkeypatch.setattr(app.sweep.reader, "read", read)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(lambda: bool(app.asked), "the error", seconds=9)
        app.sweep.look()
        await until(lambda: not app.sweep._reading, "another reading", seconds=9)
        await pilot.pause()
    (told,) = app.asked
    assert isinstance(told, ErrorUnforeseen) and repr(told.error) == "ValueError('no [such] thing')"


@pytest.mark.parametrize(("seconds", "count"), [(60.0, 1), (0.02, 3)])
async def test_a_sweep_is_read_at_once_and_then_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, count: int
) -> None:
    monkeypatch.setattr("screens.sweep.screen.REFRESH_SECONDS", seconds)
    app = SweepApp(make_sweep(tmp_path, [20, 38]))
    reads: list[bool] = []
    monkeypatch.setattr(
        app.sweep, "_read", lambda: [reads.append(True), setattr(app.sweep, "_reading", False)]
    )
    async with app.run_test(size=(100, 30)):
        assert reads
        await until(lambda: len(reads) >= count, "the readings", seconds=9)
