"""`worker.lock`: at most one worker per run, and a way to see from outside whether it lives.

The kernel's lock on the file keeps a second worker out and goes with the process, however that ends. Readers
never touch it (a reader's lock could turn a worker away): they read who holds it, and look for that process.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from engine.errors import RunError, disk_errors
from engine.regular_file import open_regular, read_regular

HUNG_AFTER = 30.0
"""Seconds without a heartbeat after which a living worker is presumed hung."""

_SIZE = 4096
_LARGEST = 1 << 20


class _Holder(msgspec.Struct, kw_only=True):
    """Who holds the lock. `started`: when that process began, as a later process may have the same number."""

    pid: int
    host: str
    started: str
    last_words: str = ""


@dataclass(frozen=True)
class LockInfo:
    """A lock file as read. `age`: seconds since the last heartbeat; `last_words`: a failure that could be
    written nowhere else."""

    pid: int
    host: str
    age: float
    alive: bool
    last_words: str = ""


class RunLock:
    """Held by a worker for as long as it lives."""

    def __init__(self, path: Path) -> None:
        """Take the lock. Raises RunError naming the worker that has it."""
        self._path = path
        with disk_errors(path):
            self._file = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise _refusal(path) from error
        self._holder = _Holder(
            pid=os.getpid(), host=socket.gethostname(), started=process_start(os.getpid()) or ""
        )
        with disk_errors(path):
            self._write(self._holder)

    def beat(self) -> None:
        """Say that the worker lives."""
        with suppress(OSError):
            os.utime(self._file)

    def say(self, last_words: str) -> None:
        """Leave a failure for readers. Overwrites the file in place, so that it works on a full disk."""
        self._holder.last_words = last_words[:2000]
        with suppress(OSError):
            self._write(self._holder)

    def release(self) -> None:
        """Let go. The file stays (removing it would let two workers lock two files), empty unless it has
        something to say."""
        with suppress(OSError):
            if not self._holder.last_words:
                os.ftruncate(self._file, 0)
        os.close(self._file)

    def _write(self, holder: _Holder) -> None:
        os.pwrite(self._file, msgspec.json.encode(holder).ljust(_SIZE), 0)
        os.fsync(self._file)


def read_lock(path: Path) -> LockInfo | None:
    """Who holds, or last held, the lock; None if nobody does or the file is no lock file. A link is none: it may lead
    to the lock of another run."""
    if path.is_symlink():
        return None
    try:
        data = read_regular(path, _LARGEST)
        age = time.time() - path.stat().st_mtime
        holder = msgspec.json.decode(data, type=_Holder)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return LockInfo(holder.pid, holder.host, max(0.0, age), _is_alive(path, holder, age), holder.last_words)


def signal_holder(path: Path) -> bool:
    """Send SIGTERM to the process that holds the lock at `path`; whether there is one on this machine.

    Anybody can write a file that names a process, so the file alone is not believed: see `holds`."""
    info = read_lock(path)
    if info is None or info.host != socket.gethostname() or not info.alive:
        return False
    try:
        os.kill(info.pid, signal.SIGTERM)
    except OSError:
        return False
    return True


def holds(path: Path, pid: int) -> bool:
    """Whether process `pid` holds the kernel's lock on the file at `path`.

    Linux lists the locks; elsewhere the process's command line must end with the run's folder."""
    try:
        inode = str(path.stat().st_ino)
        locks = Path("/proc/locks").read_text()
    except OSError:
        return _was_started_on(path.parent, pid)
    fields = (line.split() for line in locks.splitlines())
    return any(len(f) == 8 and f[4] == str(pid) and f[5].rpartition(":")[2] == inode for f in fields)


def _was_started_on(folder: Path, pid: int) -> bool:
    asked = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    command = asked.stdout.rstrip()
    return " -m engine " in command and command.endswith(f" {folder.absolute()}")


def process_start(pid: int) -> str | None:
    """A token that changes when the number `pid` is given to another process; None if there is no such
    process, or only its exit status is left of it."""
    if sys.platform == "linux":
        return _start_from_proc(pid)
    asked = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, started = asked.stdout.strip().partition(" ")
    return started.strip() if started and not state.startswith("Z") else None


def _start_from_proc(pid: int) -> str | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    state, ticks = fields[0], fields[19]
    return None if state in "ZX" else f"{boot}-{ticks}"


def _is_alive(path: Path, holder: _Holder, age: float) -> bool:
    if holder.host != socket.gethostname():
        return age < HUNG_AFTER
    return process_start(holder.pid) == holder.started and holds(path, holder.pid)


def _refusal(path: Path) -> RunError:
    info = read_lock(path)
    if info is None:
        who = "another worker"
    else:
        who = f"worker {info.pid} on {info.host}"
    return RunError(
        what=f"{who} is at work on this run",
        where=str(path.parent),
        hint="watch it with `steer-tui RUN`, or stop it first",
    )
