"""`steer-tui batch --detach`: a worker is started and left alone."""

from __future__ import annotations

import sys
import time

from app.runs.client import start_worker
from engine.errors import RunError
from engine.run.directory import RunDirectory, inspect

_LOOK_EVERY = 0.05
_PATIENCE = 60.0
"""Seconds until the worker should have taken the run; it imports little before that."""


def start_detached(directory: RunDirectory) -> int:
    """Start a worker and print the run's folder once it is at work, so that the next command finds it. Returns the exit
    code 0. Raises RunError if it ended before."""
    process = start_worker(directory)
    deadline = time.monotonic() + _PATIENCE
    while not inspect(directory.path).alive and time.monotonic() < deadline:
        if process.poll() is not None and not directory.events.exists():
            raise RunError(
                what=f"the worker ended at once (exit code {process.returncode})",
                where=str(directory.worker_log),
                hint="see the end of this file",
            )
        if process.poll() is not None:
            break  # short stages are through already
        time.sleep(_LOOK_EVERY)
    sys.stdout.write(f"{directory.path}\n")
    return 0
