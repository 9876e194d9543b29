"""How a run was left, in the line that the terminal keeps."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from textual.app import App
from textual.widgets import Static

from engine.run.directory import RunDirectory
from engine.run.lock import RunLock
from screens import leaving
from screens.leaving import LeftRun, WaitingScreen, states_now
from tests.two_runs import make_run


def test_where_each_run_is_kept_and_how_to_resume_it(tmp_path: Path) -> None:
    runs = [
        RunDirectory(make_run(tmp_path, name, [], status=status))
        for name, status in (("a", "finished"), ("b", "stopped"), ("c", "running"), ("d", "stopped"))
    ]
    lock = RunLock(runs[2].lock)
    shutil.rmtree(runs[3].path)
    a, b, c, d = (run.path for run in runs)
    assert [left.line for left in states_now(runs)] == [
        f"finished; everything is in {a}",
        f"stopped; kept in {b}; to resume: steer-tui batch --resume {b}",
        f"no answer from the engine yet: it stops after its current item; kept in {c}; "
        f"to resume: steer-tui batch --resume {c}",
        f"gone; kept in {d}; to resume: steer-tui batch --resume {d}",
    ]
    lock.release()
    assert not LeftRun(runs[3], "gone", False).alive


async def test_how_long_it_waits_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole seconds, rounded up: 4.6 are 5, and it never says that 0 are left."""
    now, run = 0.0, RunDirectory(tmp_path)
    monkeypatch.setattr(leaving, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(leaving, "request_stop", lambda _: None)
    monkeypatch.setattr(leaving, "states_now", lambda _: [LeftRun(run, "running", True)])
    async with App[None]().run_test(size=(120, 36)) as pilot:
        screen = WaitingScreen([run], patience=5.0)
        await pilot.app.push_screen(screen)
        await pilot.pause()
        for passed, words in ((0.4, "waiting, 5 s at most"), (4.0, "waiting, 1 s"), (4.9, "waiting, 1 s")):
            now = passed
            screen._look()
            assert words in str(screen.query_one("#waiting", Static).content)
