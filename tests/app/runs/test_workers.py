"""What is said of a worker that ended without a word."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.runs.workers import Ended, Workers, how_it_ended, last_words, recorded_failure
from engine.run.directory import RunDirectory
from tests.two_runs import make_run


def test_a_signal_is_named() -> None:
    """`exit code -9` says nothing to somebody who does not know how Python counts signals."""
    killed = how_it_ended(-signal.SIGKILL)
    assert "from outside" in killed and "SIGKILL" in killed and "memory" in killed
    assert "memory" not in how_it_ended(-signal.SIGTERM)
    assert how_it_ended(-64 - 1).count("65") == 1
    assert "exit code 3" in how_it_ended(3)


def test_a_worker_is_running_until_it_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    monkeypatch.setattr("app.runs.workers.start_worker", lambda directory: process)
    workers = Workers()
    assert not workers.is_running(tmp_path)
    workers.start(RunDirectory(tmp_path))
    assert workers.is_running(tmp_path) and not workers.is_running(tmp_path / "other")
    process.communicate(b"\n")
    assert not workers.is_running(tmp_path)


def test_how_a_worker_ended_word_for_word() -> None:
    assert [how_it_ended(code) for code in (0, 3, -15, -9, -65)] == [
        "the worker ended without an error message (exit code 0)",
        "the worker ended without an error message (exit code 3)",
        "the worker was ended from outside (by signal SIGTERM)",
        "the worker was ended from outside (by signal SIGKILL, as the system does when memory runs out)",
        "the worker was ended from outside (by signal 65)",
    ]


@pytest.mark.parametrize(("code", "well"), [(0, True), (130, True), (1, False), (129, False), (-15, False)])
def test_who_finished_or_was_asked_to_stop_ended_well(code: int, well: bool, tmp_path: Path) -> None:
    assert Ended(RunDirectory(tmp_path), code, "").well is well


class Process:
    """Ends when a test says so."""

    returncode: int | None = None

    def poll(self) -> int | None:
        return self.returncode


def test_workers_that_ended_are_told_of_once_with_their_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the run's record; else the last line of the worker's log."""
    recorded, logged, going = (RunDirectory(make_run(tmp_path, name, [])) for name in "abc")
    record = recorded.read()
    record.failure = "no room"
    recorded.write(record)
    for run in (recorded, logged):
        run.worker_log.write_text("first\nKilled\n\n")
    processes = {run.path: Process() for run in (recorded, logged, going)}
    monkeypatch.setattr("app.runs.workers.start_worker", lambda directory: processes[directory.path])
    workers = Workers()
    for run in (recorded, logged, going):
        workers.start(run)
    assert workers.running() == [recorded, logged, going] and workers.reap() == []
    processes[recorded.path].returncode, processes[logged.path].returncode = 1, 0
    assert workers.running() == [going]
    assert workers.reap() == [Ended(recorded, 1, "no room"), Ended(logged, 0, "Killed")]
    assert workers.reap() == [] and workers.running() == [going]


def test_the_failure_that_a_record_tells_of(tmp_path: Path) -> None:
    run = RunDirectory(make_run(tmp_path, "a", []))
    assert recorded_failure(run) == ""
    run.record.write_text("{")
    assert str(run.record) in recorded_failure(run)


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("2026-11-27 07:13:27,557 INFO library: Loading the model\n", ""),
        ("2026-11-27 07:13:27,557 INFO library: Loading\nImportError: no module\n", "ImportError: no module"),
        ("2026-11-27 07:13:27,557 ERROR engine: no room\n", "2026-11-27 07:13:27,557 ERROR engine: no room"),
        ("", ""),
    ],
)
def test_what_a_log_tells_of_an_end(log: str, said: str, tmp_path: Path) -> None:
    """What was at work when a worker was killed is not why it ended."""
    directory = RunDirectory(tmp_path)
    directory.worker_log.write_text(log)
    assert last_words(directory) == said
