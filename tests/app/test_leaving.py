"""What is said, and the exit status, where the console is left."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app import leaving as module
from app import shell
from app.leaving import Leaving
from app.runs.workers import Workers
from engine.run.directory import RunDirectory
from engine.run.lock import RunLock
from screens.leaving import LeaveScreen, WaitingScreen
from tests.two_runs import make_run


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_stops_nothing_and_is_the_exit_status(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    """As shells have it: 128 plus the signal, 15 or 1."""
    statuses: list[int] = []
    app = cast(Any, SimpleNamespace(exit=lambda return_code: statuses.append(return_code)))
    workers = cast(Workers, SimpleNamespace(running=lambda: [RunDirectory(tmp_path / "1")]))
    leaving = Leaving(app, workers, list)
    leaving.by_signal(number)
    assert statuses == [status]
    assert leaving.last_words() == [
        f"still running: {tmp_path / '1'}; to watch it: steer-tui {tmp_path / '1'}"
    ]


class Console:
    """Keeps the screens that are opened, and the codes with which it is left."""

    def __init__(self) -> None:
        self.screen: Any = None
        self.codes: list[int] = []
        self.answer: Any = None

    def exit(self, return_code: int) -> None:
        self.codes.append(return_code)

    def push_screen(self, screen: Any, callback: Any) -> None:
        self.screen, self.answer = screen, callback


@pytest.fixture
def console() -> Any:
    return Console()


def leaving_of(console: Any, *started: str, watched: tuple[str, ...] = ()) -> Leaving:
    """A console that started these runs and watches those."""
    workers = cast(Workers, SimpleNamespace(running=lambda: [RunDirectory(Path(name)) for name in started]))
    return Leaving(console, workers, lambda: [Path(name) for name in watched])


@pytest.fixture(autouse=True)
def all_run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "console" in request.fixturenames:
        monkeypatch.setattr(module, "_is_running", lambda path: path.name != "rests")


def test_runs_that_are_running_are_those_started_here_and_the_open_ones_each_once(console: Any) -> None:
    leaving = leaving_of(console, "/a/1", watched=("/a/1", "/a/2", "/a/rests"))
    assert [run.path for run in leaving.running()] == [Path("/a/1"), Path("/a/2")]


def test_a_run_is_the_same_by_its_relative_folder(
    console: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Started by one name and watched by the other: it is running once, and was started here."""
    monkeypatch.chdir(tmp_path)
    for started, watched in (("a/1", str(tmp_path / "a/1")), (str(tmp_path / "a/1"), "a/1")):
        leaving = leaving_of(console, started, watched=(watched,))
        assert [run.path for run in leaving.running()] == [Path(started)]
        assert leaving._started_elsewhere() == []


def test_whether_a_run_is_running_is_what_its_lock_says(tmp_path: Path) -> None:
    path = make_run(tmp_path, "a", [], status="running")
    assert not module._is_running(path) and not module._is_running(tmp_path / "none")
    lock = RunLock(RunDirectory(path).lock)
    assert module._is_running(path)
    lock.release()


def test_without_a_running_run_it_is_left_at_once(console: Any) -> None:
    leaving_of(console, watched=("/a/rests",)).ask()
    leaving_of(console).interrupt()
    assert console.codes == [0, 0] and console.screen is None


@pytest.mark.parametrize(("choice", "code"), [("detach", 0), ("stay", None), (None, None)])
def test_it_asks_while_a_run_is_running(console: Any, choice: str | None, code: int | None) -> None:
    leaving = leaving_of(console, "/a/1", watched=("/a/2",))
    leaving.ask()
    assert isinstance(console.screen, LeaveScreen)
    assert [run.path.name for run in console.screen._runs] == ["1", "2"]
    assert [run.path.name for run in console.screen._elsewhere] == ["2"], "not started here"
    asked = console.screen
    leaving.ask()
    assert console.screen is asked, "it asks once"
    console.answer(choice)
    assert console.codes == ([] if code is None else [code])
    assert leaving.farewell == [
        f"still running: /a/{name}; to watch it: steer-tui /a/{name}" for name in "12" if code is not None
    ]


@pytest.mark.parametrize(("interrupted", "code"), [(False, 0), (True, 130)])
def test_stop_waits_and_says_how_each_run_was_left(console: Any, interrupted: bool, code: int) -> None:
    leaving = leaving_of(console, "/a/1")
    if interrupted:
        leaving.interrupt()
    else:
        leaving.ask()
        console.answer("stop")
    assert isinstance(console.screen, WaitingScreen) and console.codes == []
    leaving.ask()
    assert isinstance(console.screen, WaitingScreen), "nothing is asked while it waits"
    console.answer([SimpleNamespace(line="stopped; kept in /a/1")])
    assert console.codes == [code] and leaving.farewell == ["stopped; kept in /a/1"]
    leaving.interrupt()
    assert console.codes == [code, 130] and leaving.farewell[1:] == [
        "left; the engine stops after its current item; kept in /a/1; to resume: steer-tui batch --resume /a/1"
    ]


def test_ctrl_c_asks_before_it_stops_a_run_of_others_and_then_stops_nothing(console: Any) -> None:
    leaving = leaving_of(console, watched=("/a/my runs/2",))
    leaving.interrupt()
    assert isinstance(console.screen, LeaveScreen) and console.codes == []
    leaving.interrupt()
    assert console.codes == [130] and leaving.farewell == [
        "still running: /a/my runs/2; to watch it: steer-tui '/a/my runs/2'"
    ], "as a shell reads it"
    console.answer("stop")
    assert isinstance(console.screen, WaitingScreen)
    console.answer(None)
    assert console.codes == [130, 130]


def test_the_console_is_opened_on_what_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At an event, number 0 too, or with changes; a size that a shell exported is not taken for the terminal's."""
    made: list[Any] = []

    def console(*arguments: object) -> SimpleNamespace:
        last_words: list[str] = []
        leaving = SimpleNamespace(last_words=lambda: last_words)
        made.append(SimpleNamespace(given=arguments, leaving=leaving, return_code=0, run=lambda: None))
        return made[-1]

    monkeypatch.setattr(shell, "SteerApp", console)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    config, run, outputs = (tmp_path / name for name in ("c.yaml", "run", "outputs"))
    first = shell.First(config=config, changes=["a=1"]), shell.First(run, 0)
    shell.run_console(outputs, first[0])
    shell.run_console(first=first[1])
    assert [one.given for one in made] == [(outputs, first[0]), (None, first[1])]
    assert "COLUMNS" not in os.environ and "LINES" not in os.environ


@pytest.mark.parametrize(("code", "returned"), [(None, 0), (0, 0), (130, 130)])
def test_the_console_ends_with_its_exit_code(
    code: int | None, returned: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After its last words, without control codes."""
    leaving = SimpleNamespace(last_words=lambda: ["kept in a\x1b[2J", "bye"])
    console = SimpleNamespace(run=lambda: None, leaving=leaving, return_code=code)
    monkeypatch.setattr(shell, "SteerApp", lambda *arguments: console)
    assert shell.run_console() == returned
    assert capsys.readouterr().out == "kept in a[2J\nbye\n"
