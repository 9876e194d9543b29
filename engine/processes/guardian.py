"""Runs a command that must not outlive who started it.

`python guardian.py GRACE COMMAND ...` starts the command in the guardian's own process group and waits. When the
command ends, the guardian ends what it left behind, then itself, with the command's exit code (128 + n for signal n).
When standard input ends, because the starter closed it or was killed, the command is asked to end, and after GRACE
seconds made to. The command alone: a server that ends its own processes in order takes one that was ended beside it
for a crash. On Linux the guardian adopts what loses its parent, so that a process in a session of its own is reached
too, and what a wrapper left behind is asked before it is killed.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LINUX = sys.platform == "linux"
_POLL_SECONDS = 0.05


def main(arguments: list[str]) -> int:
    """Returns the command's exit code."""
    grace, command = float(arguments[0]), arguments[1:]
    # Whoever signals the group, the guardian is to see it through.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if _LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=_die_with_guardian)
    except OSError as error:
        _say(f"cannot start {command[0]}: {error.strerror}")
        return 127
    deadline: list[float] = []
    threading.Thread(target=_watch, args=(child, grace, deadline), daemon=True).start()
    code = child.wait()
    if code < 0:
        _say(f"ended by {signal.Signals(-code).name}")
        code = 128 - code
    _end_what_is_left(*deadline)
    return code


def _watch(child: subprocess.Popen[bytes], grace: float, deadline: list[float]) -> None:
    """Wait for the end of standard input, then end the command. `deadline` is given the time by which all has to
    be gone."""
    while os.read(0, 4096):
        pass
    deadline.append(time.monotonic() + grace)
    child.terminate()
    try:
        child.wait(grace)
    except subprocess.TimeoutExpired:
        child.kill()


def _end_what_is_left(deadline: float = 0.0) -> None:
    """End what the command started and left running, generation after generation: asked until `deadline`, then
    killed."""
    if not _LINUX:
        os.killpg(0, signal.SIGKILL)  # the guardian too: the exit code is lost
    asked: set[int] = set()
    while True:
        for pid in _children():
            with suppress(ProcessLookupError):
                if time.monotonic() >= deadline:
                    os.kill(pid, signal.SIGKILL)
                elif pid not in asked:
                    asked.add(pid)
                    os.kill(pid, signal.SIGTERM)
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not ended:
            time.sleep(_POLL_SECONDS)


def _children() -> list[int]:
    pids: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it may end while it is looked at
            if int(stat.read_text(errors="replace").rpartition(")")[2].split()[1]) == os.getpid():
                pids.append(int(stat.parent.name))
    return pids


def _die_with_guardian() -> None:
    """In the child: the guardian's death is its own (Linux); signals are as they were."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if _LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _say(line: str) -> None:
    """Into the log."""
    os.write(2, f"{line}\n".encode(errors="replace"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
