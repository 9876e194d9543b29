"""Runs a command that must not outlive who started it.

`python -m engine.lm.guardian GRACE COMMAND ...` starts the command in the guardian's own process group and waits. When
the command ends, so does the guardian, with its exit code. When standard input ends, because the starter closed it or
was killed, the whole group is asked to end, and after GRACE seconds made to.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Returns the command's exit code."""
    grace, command = float(arguments[0]), arguments[1:]
    # The group is asked as a whole; the guardian is to see it through.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=_die_with_guardian)
    except OSError:
        return 127
    threading.Thread(target=_watch, args=(child, grace), daemon=True).start()
    return child.wait()


def _watch(child: subprocess.Popen[bytes], grace: float) -> None:
    """Wait for the end of standard input, then end the group."""
    while os.read(0, 4096):
        pass
    with suppress(ProcessLookupError):
        os.killpg(0, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        child.wait(grace)
    os.killpg(0, signal.SIGKILL)  # what the command left behind, and the guardian itself


def _die_with_guardian() -> None:
    """In the child: the guardian's death is its own (Linux); signals are as they were."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
