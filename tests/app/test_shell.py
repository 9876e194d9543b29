"""The console driven by keys: starting, watching, failing, leaving; with real workers."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, Static

from app.cli import main
from app.keys.command_palette import BoundCommands
from app.runs.session import RunSession
from app.shell import First, SteerApp
from engine.run.directory import RunDirectory, inspect
from screens.evolution.screen import EvolutionScreen
from screens.leaving import LeaveScreen, WaitingScreen
from screens.messages import RunRequested, SystemRequested
from screens.new_run import NewRunScreen
from screens.overview.screen import OverviewScreen
from screens.panels.error_panel import ErrorPanel
from screens.panels.help import HelpScreen
from screens.panes.cases import CasesPane
from screens.runs.screen import RunsScreen
from screens.widgets.key_line import keys_of
from screens.widgets.run_header import RunHeader
from screens.widgets.stage_bar import StageBar
from tests.console import until
from tests.synthetic_evolution import evolution_events
from tests.synthetic_run import SyntheticRun, write_log

MakeConfig = Callable[..., Path]
MakeRun = Callable[..., RunDirectory]


@pytest.fixture(autouse=True)
def slow_items(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Stages take long enough to be watched; nothing is written into the repository."""
    monkeypatch.setenv("ITEM_SECONDS", "0.02")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Callable[..., SteerApp]]:
    """`console(config=…, run=…)`; whatever worker still lives at the end is killed."""
    opened: list[SteerApp] = []

    def open_console(config: Path | None = None, run: Path | None = None) -> SteerApp:
        opened.append(SteerApp(tmp_path / "outputs", First(run=run, config=config)))
        return opened[-1]

    yield open_console
    for app in opened:
        for run in app.engine_workers.running():
            pid = inspect(run.path).pid
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
        if app.session is not None:
            app.session.close()


async def on_screen(app: SteerApp, kind: type[Screen[Any]]) -> None:
    await until(lambda: isinstance(app.screen, kind), kind.__name__)


def session_of(app: SteerApp) -> RunSession:
    assert app.session is not None
    return app.session


def is_alive(session: RunSession) -> bool:
    return session.status is not None and session.status.alive


def text_of(screen: Screen[Any], selector: str) -> str:
    return str(screen.query_one(selector, Static).content)


async def start(app: SteerApp, pilot: Pilot[None]) -> RunSession:
    """From the dialog to a run that has begun."""
    await on_screen(app, NewRunScreen)
    await pilot.press("enter")
    await on_screen(app, OverviewScreen)
    session = session_of(app)
    await until(lambda: is_alive(session) and session.state.active_stage is not None, "a stage at work")
    return session


async def test_one_enter_starts_the_given_configuration(
    console: Callable[..., SteerApp], make_config: MakeConfig
) -> None:
    app = console(config=make_config("Count", items=60))
    async with app.run_test() as pilot:
        session = await start(app, pilot)
        await until(lambda: session.state.status == "finished", "the end of the run")
        await until(lambda: not app.leaving.running(), "the end of the worker")
        await pilot.press("q")
    assert app.return_code == 0 and app.leaving.farewell == []


async def test_all_mistakes_of_a_configuration_are_shown(
    console: Callable[..., SteerApp], tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("run: {name: 7, sed: 3}\ntask: {train_size: 0}\nonlin: {L: 3}\n")
    app = console(config=wrong)
    async with app.run_test(size=(100, 40)) as pilot:
        await on_screen(app, NewRunScreen)
        await pilot.press("enter")
        await until(lambda: app.screen.has_class("-wrong"), "the refusal")
        await pilot.pause()
        drawn = "\n".join(app.screen.query_one("#config-message").render_line(y).text for y in range(30))
        for word in (
            "4 values",
            "run.name",
            "run.sed",
            "task.train_size",
            "at least 1",
            "onlin",
            "did you mean",
        ):
            assert word in drawn, word
        app.screen.query_one("#config-path", Input).value = str(tmp_path / "none.yaml")
        await pilot.press("enter")
        await until(lambda: app.screen.has_class("-wrong"), "the refusal")
        await pilot.press("escape")
        await on_screen(app, RunsScreen)


async def test_pause_and_freeze_are_two_things(
    console: Callable[..., SteerApp], make_config: MakeConfig
) -> None:
    app = console(config=make_config("Count", items=2000))
    async with app.run_test() as pilot:
        session = await start(app, pilot)
        await pilot.press("space")
        assert session.frozen
        await until(lambda: session.behind > 3, "events behind the frozen view")
        assert session.update() or is_alive(session), "the engine goes on"
        words = [key.word for key in keys_of(app.screen)]
        assert {"Unfreeze", "Pause", "Stop", "Detach", "Quit"} <= set(words)
        header = app.screen.query_one(RunHeader)
        assert "FROZEN" in header.render().plain and "PAUSED" not in header.render().plain
        await pilot.press("space", "p")
        await until(lambda: session.state.status == "paused", "the pause")
        assert not session.frozen
        await until(lambda: "ENGINE PAUSED" in header.render().plain, "the header")
        assert "FROZEN" not in header.render().plain
        await pilot.press("space")
        assert "FROZEN" in header.render().plain and "ENGINE PAUSED" in header.render().plain
        await pilot.press("space")
        await until(lambda: "Continue" in [key.word for key in keys_of(app.screen)], "the key to continue")
        await pilot.press("p")
        await until(lambda: session.state.status == "running", "going on")
        await pilot.press("S")
        await until(lambda: session.state.status == "stopped", "the stop")
        await until(
            lambda: not is_alive(session) and "Resume" in [k.word for k in keys_of(app.screen)], "resume"
        )
        done = session.state.stages["example_stages:Count"].done
        await pilot.press("r")
        await until(lambda: session.state.status == "running", "the second attempt")
        await until(lambda: session.state.stages["example_stages:Count"].done > done, "its items")


async def test_detach_leaves_it_running_and_home_shows_it(
    console: Callable[..., SteerApp], make_config: MakeConfig
) -> None:
    app = console(config=make_config("Count", items=2000))
    async with app.run_test() as pilot:
        session = await start(app, pilot)
        await pilot.press("ctrl+d")
        await on_screen(app, RunsScreen)
        assert app.session is None
        await until(lambda: app.home.selected is not None and app.home.selected.working, "the run at work")
        await until(lambda: app.home.selected is not None and app.home.selected.progress.done > 0, "progress")
        await pilot.press("enter")
        await on_screen(app, OverviewScreen)
        await until(lambda: session_of(app).state.seq > session.state.seq, "the run goes on")
        await pilot.press("q")
        await on_screen(app, LeaveScreen)
        await pilot.press("escape")
        await on_screen(app, OverviewScreen)
        await pilot.press("q", "ctrl+d")
        await until(lambda: app.return_code is not None, "leaving")
    assert app.return_code == 0
    assert app.leaving.farewell[0].startswith("still running: ") and inspect(session.run_dir).alive


async def test_the_list_comes_back_on_the_run_that_was_open(
    console: Callable[..., SteerApp], make_run: MakeRun
) -> None:
    """Which is not the newest one."""
    old, new = make_run("Count"), make_run("Count")
    for run, created in ((old, 1000.0), (new, 2000.0)):
        record = run.read()
        record.created = created
        run.write(record)
        write_log(run.events, SyntheticRun(examples=2).events())
    app = console(run=old.path)
    async with app.run_test() as pilot:
        await on_screen(app, OverviewScreen)
        await pilot.press("ctrl+d")
        await on_screen(app, RunsScreen)
        await until(lambda: len(app.home.source) == 2, "the list")
        await pilot.pause()
        assert app.home.selected is not None and app.home.selected.path == old.path


async def test_ctrl_c_waits_for_the_engine(console: Callable[..., SteerApp], make_config: MakeConfig) -> None:
    app = console(config=make_config("Count", items=2000))
    async with app.run_test() as pilot:
        session = await start(app, pilot)
        await pilot.press("ctrl+c")
        await until(lambda: app.return_code is not None, "leaving")
    assert app.return_code == 130
    [line] = app.leaving.farewell
    assert line.startswith("stopped; kept in ") and f"--resume {session.run_dir}" in line
    assert inspect(session.run_dir).state == "stopped"


async def test_second_ctrl_c_leaves_at_once(
    console: Callable[..., SteerApp], make_config: MakeConfig
) -> None:
    app = console(config=make_config("Deaf"))
    async with app.run_test() as pilot:
        await start(app, pilot)
        await pilot.press("ctrl+c")
        await on_screen(app, WaitingScreen)
        await pilot.pause()
        assert "again leaves at once" in text_of(app.screen, "#waiting")
        await pilot.press("ctrl+c")
        await until(lambda: app.return_code is not None, "leaving", seconds=20)
    assert app.return_code == 130
    assert app.leaving.farewell[0].startswith("left; the engine stops after its current item; kept in ")


async def test_stop_and_keep(console: Callable[..., SteerApp], make_config: MakeConfig) -> None:
    app = console(config=make_config("Count", items=2000))
    async with app.run_test() as pilot:
        session = await start(app, pilot)
        await pilot.press("q", "S")
        await until(lambda: app.return_code is not None, "leaving")
    assert app.return_code == 0 and inspect(session.run_dir).state == "stopped"


@pytest.mark.parametrize("stage", ["BadData", "Bug"])
async def test_failure_is_a_panel_until_it_is_read(
    console: Callable[..., SteerApp], make_config: MakeConfig, stage: str
) -> None:
    app = console(config=make_config(stage))
    copied: list[str] = []
    app.copy_to_clipboard = lambda text: copied.append(text)
    async with app.run_test(size=(100, 40)) as pilot:
        await on_screen(app, NewRunScreen)
        await pilot.press("enter")
        await on_screen(app, ErrorPanel)
        await pilot.press("y")
        assert ("no such column" in copied[0] and "name it `question`" in copied[0]) or "a bug" in copied[0]
        await pilot.press("escape")
        await on_screen(app, OverviewScreen)
        await asyncio.sleep(0.5)
        assert isinstance(app.screen, OverviewScreen), "one failure is told once"
        await pilot.press("E")
        await on_screen(app, ErrorPanel)


async def test_failure_is_told_once_however_slowly_the_log_is_read(
    console: Callable[..., SteerApp], make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, fold = threading.Event(), RunSession._fold_some
    monkeypatch.setattr(RunSession, "_fold_some", lambda session: held.is_set() and fold(session))
    app = console(config=make_config("BadData"))
    async with app.run_test(size=(100, 40)) as pilot:
        await on_screen(app, NewRunScreen)
        await pilot.press("enter")
        await on_screen(app, OverviewScreen)
        await until(lambda: not app.leaving.running(), "the end of the worker")
        await asyncio.sleep(1.2)
        assert isinstance(app.screen, OverviewScreen), "the log may tell it yet"
        held.set()
        await on_screen(app, ErrorPanel)
        await pilot.press("escape")
        await on_screen(app, OverviewScreen)
        await asyncio.sleep(0.5)
        assert isinstance(app.screen, OverviewScreen)


async def test_worker_that_dies_without_a_word(
    console: Callable[..., SteerApp], make_config: MakeConfig
) -> None:
    app = console(config=make_config("Deaf"))
    async with app.run_test() as pilot:
        session = await start(app, pilot)
        assert session.status is not None and session.status.pid is not None
        os.kill(session.status.pid, signal.SIGKILL)
        await on_screen(app, ErrorPanel)
        await pilot.press("escape")
        await on_screen(app, OverviewScreen)
        await until(
            lambda: session.status is not None and session.status.state == "interrupted", "interrupted"
        )
        bar = app.screen.query_one(StageBar)
        await until(lambda: "■" in bar.render().plain, "the stage that nobody is at")
        assert "ETA" not in bar.render().plain and "▶" not in bar.render().plain
        await until(lambda: "Resume" in [key.word for key in keys_of(app.screen)], "resume")


async def test_finished_run_is_replayed(console: Callable[..., SteerApp], make_run: MakeRun) -> None:
    run = make_run("Count")
    write_log(run.events, SyntheticRun().events())
    app = console(run=run.path)
    async with app.run_test() as pilot:
        await on_screen(app, OverviewScreen)
        session = session_of(app)
        await until(lambda: session.state.status == "finished", "the log")
        last = session.total_events - 1
        await pilot.press("left_square_bracket", "left_square_bracket")
        assert session.cursor == last - 2
        await until(lambda: session.state.seq == last - 2, "two events back")
        await pilot.press("0")
        await until(lambda: session.state.seq == 0, "the first event")
        await pilot.press("full_stop", "full_stop", "comma")
        await until(lambda: session.state.seq > 20, "the replay")
        await pilot.press("comma")
        here = session.cursor
        await asyncio.sleep(0.3)
        assert here is not None and session.cursor == here, "the replay halts"
        await pilot.press("L")
        assert session.cursor is None
        await pilot.press("escape")
        await on_screen(app, RunsScreen)


async def test_help_names_every_key_of_the_screen(
    console: Callable[..., SteerApp], make_run: MakeRun
) -> None:
    run = make_run("Count")
    write_log(run.events, SyntheticRun(examples=2).events())
    app = console(run=run.path)
    async with app.run_test(size=(200, 60)) as pilot:
        await on_screen(app, OverviewScreen)
        shown = {key.word for key in keys_of(app.screen)}
        await pilot.press("question_mark")
        await on_screen(app, HelpScreen)
        screen = app.screen
        assert isinstance(screen, HelpScreen)
        labels = {
            label for _, rows in screen._sections for _, joined, _ in rows for label in joined.split(", ")
        }
        assert shown - {"More"} <= labels and {"Time line", "Stop and quit", "Dark/light"} <= labels
        await pilot.press("escape")
        await on_screen(app, OverviewScreen)


async def test_palette_has_the_commands_of_the_screen(
    console: Callable[..., SteerApp], make_run: MakeRun
) -> None:
    run = make_run("Count")
    write_log(run.events, SyntheticRun(examples=2).events())
    app = console(run=run.path)
    async with app.run_test() as pilot:
        await on_screen(app, OverviewScreen)
        provider = BoundCommands(app.screen)
        names = [hit.text async for hit in provider.discover()]
        for word in ("Detach  (^d)", "Report  (R)", "Dark/light"):
            assert word in names, word
        assert len(names) == len(set(names)) and not {"Report", "Error"} & set(names), (
            "each once, with its key"
        )
        await pilot.press("ctrl+p")
        await pilot.press(*"time line", "down", "enter")
        await until(lambda: session_of(app).cursor is not None, "the command")


async def test_themes_are_ours_and_change(console: Callable[..., SteerApp]) -> None:
    app = console()
    async with app.run_test():
        assert app.theme == "steer-dark"
        await app.run_action("app.toggle_dark")
        assert app.theme == "steer-light"
        await app.run_action("app.toggle_dark")
        assert app.theme == "steer-dark"


async def test_any_screen_is_written_as_a_picture(
    console: Callable[..., SteerApp], make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a run into its folder, of the list into the working folder; nothing in it is asked of the network."""
    monkeypatch.chdir(tmp_path)
    run = make_run("Count")
    write_log(run.events, SyntheticRun().events())
    app = console(run=run.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await on_screen(app, OverviewScreen)
        await until(lambda: session_of(app).state.status == "finished", "the log")
        await pilot.press("x", "ctrl+d")
        await on_screen(app, RunsScreen)
        await pilot.press("x")
    for folder, word in ((run.path, "Overview"), (tmp_path, "result")):
        [picture] = (folder / "exports").glob("screen-*.svg")
        text = picture.read_text()
        assert text.startswith("<svg") and word in text and "@font-face" not in text


async def test_resize_while_a_run_goes_on(console: Callable[..., SteerApp], make_config: MakeConfig) -> None:
    app = console(config=make_config("Count", items=2000))
    async with app.run_test(size=(200, 60)) as pilot:
        await start(app, pilot)
        for size in ((80, 24), (40, 10), (200, 60), (61, 12), (1, 1), (120, 40)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            await asyncio.sleep(0.1)
        assert isinstance(app.screen, OverviewScreen)


async def test_esc_leads_back_to_the_run_from_which_another_was_opened(
    console: Callable[..., SteerApp], make_run: MakeRun
) -> None:
    """Back to the same iteration, then to the list."""
    first, second = make_run("Count"), make_run("Count")
    write_log(first.events, evolution_events())
    write_log(second.events, evolution_events())
    app = console()
    async with app.run_test(size=(100, 40)) as pilot:
        app.open_run(first.path)
        await until(lambda: session_of(app).caught_up, "the log")
        app.post_message(SystemRequested("Evolution"))
        await on_screen(app, EvolutionScreen)
        screen = app.screen
        await until(lambda: screen.query("#iterations"), "the tab")
        cases = screen.query_one("#iterations", CasesPane)
        await until(lambda: len(cases.source) > 2, "the iterations")
        await pilot.press("g", "down")
        app.post_message(RunRequested(second.path, ""))
        await until(lambda: session_of(app).run_dir == second.path, "the other run")
        await pilot.pause()
        await pilot.press("escape")
        await until(lambda: app.screen is screen, "the run it was opened from")
        assert session_of(app).run_dir == first.path
        selected = cases.under_cursor()
        assert selected is not None and selected.iteration == 1
        await pilot.press("escape")
        await on_screen(app, OverviewScreen)
        await pilot.press("escape")
        await on_screen(app, RunsScreen)
        assert app.session is None


async def test_several_runs_of_a_name_are_listed(make_run: MakeRun, tmp_path: Path) -> None:
    """The newest is not opened unasked."""
    other, *runs = [make_run("Count") for _ in range(3)]
    record = other.read()
    record.name = "other"
    other.write(record)
    app = SteerApp(tmp_path / "outputs", First(choose_from=[run.path for run in runs]))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: len(app.home.source.rows) == 3, "the runs")
        await pilot.pause()
        assert isinstance(app.screen, RunsScreen)
        assert {row.path for row in app.home.source.runs} == {run.path for run in runs}
        assert "2 runs have this name" in next(iter(app._notifications)).message


async def test_runs_of_several_experiments_are_listed_together(make_run: MakeRun, tmp_path: Path) -> None:
    """An id may begin those of two."""
    runs = [make_run("Count") for _ in range(3)]
    for number, run in enumerate(runs):
        place = tmp_path / "outputs" / f"experiment {number}" / run.path.name
        place.parent.mkdir()
        run.path.rename(place)
        record = RunDirectory(place).read()
        record.name = place.parent.name
        RunDirectory(place).write(record)
    places = sorted((tmp_path / "outputs").glob("experiment */*"))
    app = SteerApp(tmp_path / "outputs", First(choose_from=places[:2]))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: len(app.home.source.rows) == 3, "the runs")
        await pilot.pause()
        assert {row.path for row in app.home.source.runs} == set(places[:2])


def test_a_name_of_several_runs_asks_which(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [make_run("Count") for _ in range(2)]
    opened: list[dict[str, object]] = []

    def opens(outputs: Path | None, first: First) -> int:
        opened.append({"run": first.run, "choose": set(first.choose_from)})
        return 0

    monkeypatch.setattr("app.shell.run_console", opens)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    outputs = ["--outputs", str(tmp_path / "outputs")]
    assert main(["test", *outputs]) == main([runs[0].path.name, *outputs]) == main(outputs) == 0
    assert opened == [
        {"run": None, "choose": {run.path for run in runs}}, {"run": runs[0].path, "choose": set()},
        {"run": None, "choose": set()},
    ]  # fmt: skip
