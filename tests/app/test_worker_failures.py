"""Workers that failed: which errors the console shows, when, and how they are worded."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app import worker_failures
from app.runs.workers import Ended
from app.worker_failures import WorkerFailures, ended_error
from engine.run.directory import RunDirectory

RUN = RunDirectory(Path("/runs/demo/a"))


class Console:
    """Workers that end, a session that reads its log, and a clock."""

    def __init__(self, *ended: Ended) -> None:
        self.ended, self.now, self.looked = list(ended), 100.0, 0
        self.failures = WorkerFailures(self)  # type: ignore[arg-type]

    def reap(self) -> list[Ended]:
        ended, self.ended = self.ended, []
        return ended

    def session(self, run: RunDirectory = RUN, **more: Any) -> Any:
        def poll_now() -> None:
            self.looked += 1

        state = {"failed": False, "cursor": None, "frozen": False, "caught_up": False} | more
        return SimpleNamespace(run_dir=run.path, poll_now=poll_now, **state)


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Console:
    console = Console(Ended(RUN, 1, "no space left"))
    monkeypatch.setattr(worker_failures.time, "monotonic", lambda: console.now)
    return console


def test_a_run_that_is_not_open_is_reported_at_once_and_once(console: Console) -> None:
    [ended] = console.failures.look(None)
    error = ended_error(ended)
    assert (error.what, error.where) == ("no space left", str(RUN.worker_log))
    assert console.failures.look(None) == []


def test_a_run_can_be_resumed_unless_its_folder_is_gone(tmp_path: Path) -> None:
    ended = Ended(RunDirectory(tmp_path), 1, "")
    assert ended_error(ended).hint == "the run's folder is gone, with its results: start a new run"
    ended.directory.record.touch()
    assert ended_error(ended).hint == (
        "everything finished is kept: correct the cause, then press r to resume the run"
    )


def test_another_run_on_the_screen_does_not_hold_it_back(console: Console) -> None:
    assert len(console.failures.look(console.session(RunDirectory(Path("/runs/demo/b"))))) == 1
    assert console.looked == 0


def test_without_a_reason_the_exit_code_is_named() -> None:
    [ended] = Console(Ended(RUN, 3, "")).failures.look(None)
    assert ended_error(ended).what == "the worker ended without an error message (exit code 3)"


@pytest.mark.parametrize("code", (0, 130))
def test_a_worker_that_finished_or_was_stopped_has_not_failed(code: int) -> None:
    assert Console(Ended(RUN, code, "")).failures.look(None) == []


def test_what_the_runs_own_screen_shows_is_not_shown_twice(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever way its folder is named."""
    assert console.failures.look(console.session(failed=True)) == []
    monkeypatch.chdir("/")
    relative = RunDirectory(RUN.path.relative_to("/"))
    assert Console(Ended(RUN, 1, "")).failures.look(console.session(relative, failed=True)) == []
    console.now += 60
    assert console.failures.look(None) == [] and console.looked == 0


@pytest.mark.parametrize("where", ({"cursor": 7}, {"frozen": True}))
def test_a_view_of_the_past_shows_no_failure(console: Console, where: dict[str, Any]) -> None:
    assert len(console.failures.look(console.session(failed=True, caught_up=True, **where))) == 1


def test_a_log_that_is_still_read_is_waited_for_five_seconds(console: Console) -> None:
    assert console.failures.look(console.session()) == [] and console.looked == 1
    console.now += 4.9
    assert console.failures.look(console.session()) == [] and console.looked == 2
    console.now += 0.1
    assert len(console.failures.look(console.session())) == 1
    assert console.failures.look(console.session()) == []


def test_a_log_that_is_read_whole_and_tells_of_no_failure(console: Console) -> None:
    assert len(console.failures.look(console.session(caught_up=True))) == 1
