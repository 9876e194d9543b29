"""How a run was left, in the line that the terminal keeps."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from textual.app import App
from textual.widgets import Static

from engine.run.directory import RunDirectory
from engine.run.lock import RunLock
from screens import leaving
from screens.leaving import LeaveScreen, LeftRun, WaitingScreen, states_now
from tests.console import until
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
            screen._poll()
            assert words in str(screen.query_one("#waiting", Static).content)


async def test_it_waits_until_nothing_is_alive_or_the_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every engine is asked to stop; the result is how each was left then."""
    asked: list[Path] = []
    runs = [RunDirectory(tmp_path / name) for name in "ab"]
    monkeypatch.setattr(leaving, "request_stop", lambda run: asked.append(run.path))

    class Thread:
        def __init__(self, target: Any, args: tuple[RunDirectory], daemon: bool = False) -> None:
            assert daemon, "an engine that does not answer keeps nobody from leaving"
            self.start = lambda: target(*args)

    monkeypatch.setattr(leaving, "threading", SimpleNamespace(Thread=Thread))
    now, states = 0.0, [LeftRun(runs[0], "running", True), LeftRun(runs[1], "stopped", False)]
    monkeypatch.setattr(leaving, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(leaving, "states_now", lambda _: states)
    left: list[list[LeftRun] | None] = []
    async with App[None]().run_test(size=(120, 36)) as pilot:
        for passed, alive in ((5.0, True), (1.0, False)):
            now, states = 0.0, [LeftRun(runs[0], "running", True), LeftRun(runs[1], "stopped", False)]
            screen = WaitingScreen(runs, patience=5.0)
            await pilot.app.push_screen(screen, left.append)
            await pilot.pause()
            assert left == [] or len(left) == 1
            assert screen._heading == "Stopping" and screen.has_class("-warning")
            now, states = passed, [LeftRun(runs[0], "running", alive), LeftRun(runs[1], "stopped", False)]
            screen._poll()
            await pilot.pause()
    assert [[run.alive for run in result or ()] for result in left] == [[True, False], [False, False]]
    assert sorted(asked) == sorted([*(run.path for run in runs)] * 2)


@pytest.mark.parametrize("key", ["ctrl+d", "S", "escape"])
async def test_each_key_is_a_choice(key: str, tmp_path: Path) -> None:
    chosen: list[str | None] = []
    run = RunDirectory(tmp_path)
    async with App[None]().run_test() as pilot:
        await pilot.app.push_screen(LeaveScreen([run]), chosen.append)
        await pilot.press(key)
    assert chosen == [{"ctrl+d": "detach", "S": "stop", "escape": "stay"}[key]]
    assert LeaveScreen([run])._heading == "A run is still running"
    assert LeaveScreen([run, run])._heading == "2 runs are still running"


async def test_the_dialog_that_waits_ends_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to press a key: it looks ten times a second."""
    monkeypatch.setattr(leaving, "request_stop", lambda run: None)
    alive = LeftRun(RunDirectory(tmp_path), "running", True)
    monkeypatch.setattr(leaving, "states_now", lambda _: [alive])
    results: list[list[LeftRun] | None] = []
    async with App[None]().run_test() as pilot:
        await pilot.app.push_screen(WaitingScreen([alive.directory], patience=0.05), results.append)
        await until(lambda: results, "the end")
    assert results == [[alive]]
