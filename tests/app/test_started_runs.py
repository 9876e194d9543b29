"""What the console says where a run, a sweep or an item cannot be started or opened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.runs.workers import Ended
from app.shell import SteerApp
from engine.errors import DiskError, RunError
from engine.events import Notice
from engine.run.directory import RunDirectory
from screens.messages import CompareRequested, ResumeRequested, SweepRequested
from screens.panels.error_panel import ErrorPanel
from tests.console import until
from tests.two_runs import decided, evaluated, make_run

REFUSED = RunError(what="no room", where="here", hint="make some")


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    events = [Notice(text="x"), decided("a", 1), evaluated("esm", "a", True)]
    return RunDirectory(make_run(tmp_path / "outputs", "a", events))


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SteerApp]:
    monkeypatch.chdir(tmp_path)
    app = SteerApp(tmp_path / "outputs")
    yield app
    if app.session is not None:
        app.session.close()


def fault(app: SteerApp) -> str:
    """The text of the error panel, which is closed."""
    panel = app.screen
    assert isinstance(panel, ErrorPanel)
    app.pop_screen()
    return panel.fault.as_text()


def refuse(*_: Any) -> None:
    raise REFUSED


async def test_what_cannot_be_started_or_opened_says_why(
    app: SteerApp, run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = "no room\nwhere: here\nhow to fix: make some"
    async with app.run_test() as pilot:
        monkeypatch.setattr(app.engine_workers, "start", refuse)
        assert not app.start_worker(run)
        assert fault(app) == f"The run was not started\n{why}"
        app._begin(run)
        assert fault(app) == f"The run was not started\n{why}" and app.session is None
        app._resume_requested(ResumeRequested(run.path))
        assert fault(app) == f"The run was not started\n{why}" and app.session is None
        monkeypatch.setattr("app.runs.sweeps.start_queue", refuse)
        app._begin(run.path)
        assert fault(app) == f"The sweep was not started\n{why}" and app.leaving.sweeps == []
        monkeypatch.setattr(app._failures, "look", lambda session: [Ended(run, -9, "")])
        app.show_failures()
        ended = app.screen
        await until(lambda: ended.is_current and ended.is_running, "the panel")
        await pilot.press("r")
        await until(lambda: app.screen is not ended, "r asks for another worker at once")
        assert fault(app) == f"The run was not started\n{why}"
        app.show_failures()
        assert fault(app).startswith("The engine ended\nthe worker was ended from outside (by signal SIGKILL")
        monkeypatch.setattr(app._failures, "look", lambda session: [])
        app.open_event(run.path, 3)
        assert fault(app) == (
            f"The item was not opened\nthe log has no event of this number\nwhere: {run.path}@3\n"
            "how to fix: events count from 0; y copies a row's number"
        )
        app.open_event(run.path, 0)
        assert "event 0 is Notice, which no table has a row for" in fault(app)


async def test_what_was_begun_is_shown(
    app: SteerApp, run: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []
    async with app.run_test():
        monkeypatch.setattr(
            app.engine_workers, "start", lambda directory: opened.append(("start", directory.path))
        )
        monkeypatch.setattr("app.runs.sweeps.start_queue", lambda folder: opened.append(("queue", folder)))
        monkeypatch.setattr(
            "app.started_runs.prepare_resume", lambda directory: opened.append(("resume", directory.path))
        )
        monkeypatch.setattr(app, "open_run", lambda path: opened.append(("run", path)))
        monkeypatch.setattr(app, "open_sweep", lambda folder: opened.append(("sweep", folder)))
        sweep = tmp_path / "elsewhere" / "sweeps" / "1"
        app._begin(sweep)
        assert app.leaving.sweeps == [sweep] and app.home.runs.folders[-1] == tmp_path / "elsewhere"
        app._sweep_requested(SweepRequested(tmp_path))
        app._begin(None)
        assert opened == [("queue", sweep), ("sweep", sweep), ("sweep", tmp_path)]
        opened.clear()
        app._begin(run)
        record = run.read()
        record.attempts = 1
        run.write(record)
        app._resume_requested(ResumeRequested(run.path))
        path = run.path
        assert opened == [("start", path), ("run", path), ("resume", path), ("start", path), ("run", path)]


async def test_two_runs_are_compared(app: SteerApp, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    async with app.run_test():
        monkeypatch.setattr("screens.compare.screen.CompareScreen", lambda *runs: runs)
        monkeypatch.setattr(app, "push_screen", shown.append)
        app._compare_requested(CompareRequested((Path("a"), Path("b"))))
    assert shown == [(Path("a"), Path("b"))]


async def test_a_picture_that_cannot_be_written(app: SteerApp, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, Any]] = []

    def full(*_: Any) -> None:
        raise DiskError(what="the disk is full", where="/x")

    async with app.run_test():
        monkeypatch.setattr(app, "notify", lambda text, **more: said.append((text, more.get("severity"))))
        monkeypatch.setattr("app.export.write_picture", full)
        app.action_picture()
        monkeypatch.setattr("app.export.write_picture", lambda path, svg: None)
        app.action_picture()
    assert said[0] == ("The picture was not written: the disk is full (/x)", "error")
    path = Path(said[1][0])
    assert path.parent == Path.cwd() / "exports" and path.suffix == ".svg" and said[1][1] is None
