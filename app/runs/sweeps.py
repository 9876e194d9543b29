"""Sweeps from outside: start the process that works on one, ask it to stop."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

from engine.errors import RunError, disk_errors
from engine.processes.own_process import engine_command, engine_environment
from engine.run.lock import read_lock

STATE = "sweep.json"


def start_queue(folder: Path) -> subprocess.Popen[bytes]:
    """Start the process that works on a sweep, in a session of its own: it runs on after this process and its terminal.
    Raises RunError if one is at work on it."""
    lock = read_lock(folder / "worker.lock")
    if lock is not None and lock.alive:
        raise RunError(
            what=f"process {lock.pid} on {lock.host} is at work on this sweep",
            where=str(folder),
            mend="stop it first, or watch it in the console",
        )
    with disk_errors(folder), (folder / "worker.log").open("ab") as log:
        return subprocess.Popen(
            engine_command("sweep", str(folder.absolute())), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True, env=engine_environment(),
        )  # fmt: skip


def stop_queue(folder: Path) -> bool:
    """Ask the process that works on a sweep to stop it and its runs; whether there is one on this machine."""
    lock = read_lock(folder / "worker.lock")
    if lock is None or not lock.alive or lock.host != socket.gethostname():
        return False
    with suppress(ProcessLookupError, PermissionError):
        os.kill(lock.pid, signal.SIGTERM)
        return True
    return False
