"""The workers that this console started. They run on after it; it knows them only while it runs."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from app.runs.client import start_worker
from engine.errors import RunError
from engine.regular_file import last_line
from engine.run.directory import RunDirectory, inspect

_ENDED_WELL = (0, 130)


@dataclass(frozen=True)
class Ended:
    """A worker that ended, and the reason it left. `code`: as `Popen.returncode`."""

    directory: RunDirectory
    code: int
    reason: str

    @property
    def well(self) -> bool:
        """Whether it finished, or stopped because it was asked to."""
        return self.code in _ENDED_WELL


def how_it_ended(code: int) -> str:
    """What is known of a worker that left no reason. `code`: as `Popen.returncode`."""
    if code >= 0:
        return f"the worker ended without an error message (exit code {code})"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    memory = ", as the system does when memory runs out" if -code == signal.SIGKILL else ""
    return f"the worker was ended from outside (by signal {name}{memory})"


class Workers:
    """Starts workers and notices when they end."""

    def __init__(self) -> None:
        self._processes: dict[Path, tuple[RunDirectory, subprocess.Popen[bytes]]] = {}

    def start(self, directory: RunDirectory) -> None:
        """Start a worker. Raises DiskError where its log cannot be written."""
        self._processes[directory.path] = (directory, start_worker(directory))

    def running(self) -> list[RunDirectory]:
        """Runs whose worker was started here and still runs."""
        return [directory for directory, process in self._processes.values() if process.poll() is None]

    def is_running(self, run: Path) -> bool:
        """Whether a worker was started here on this run, and has not ended. Called from any thread."""
        known = self._processes.get(run)
        return known is not None and known[1].poll() is None

    def reap(self) -> list[Ended]:
        """Workers that ended since the last call."""
        ended = [(d, p) for d, p in self._processes.values() if p.poll() is not None]
        for directory, _ in ended:
            del self._processes[directory.path]
        return [Ended(d, p.returncode, recorded_failure(d) or last_words(d)) for d, p in ended]


def last_words(directory: RunDirectory) -> str:
    """The last line of a worker's log; "" where that says nothing but what the worker did."""
    last = last_line(directory.worker_log)
    return "" if " INFO " in last else last


def recorded_failure(directory: RunDirectory) -> str:
    """The failure that a run's record tells of, or what is wrong with the record; "" where nothing failed."""
    try:
        return inspect(directory.path).failure
    except RunError as error:
        return str(error)
