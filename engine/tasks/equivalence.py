"""Whether two mathematical answers are equal, by math-verify over SymPy, in a process of its own that has limits."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import threading
from contextlib import suppress
from functools import lru_cache

from engine.processes.engine_process import engine_environment

_PATIENCE = 120.0
"""Seconds until a process that neither answers nor computes is given up."""
_COMMAND = (sys.executable, "-P", "-m", "engine.tasks.equivalence_process")


class _Checker:
    """Asks the process, and starts another one where it has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, gold: str, pred: str) -> bool:
        """False also where the question takes more than its time or memory."""
        with self._lock:
            process = self._process = self._running()
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(json.dumps([gold, pred]).encode() + b"\n")
                process.stdin.flush()
                ready, _, _ = select.select([process.stdout], [], [], _PATIENCE)
                line = process.stdout.readline() if ready else b""
            except BrokenPipeError:
                line = b""
            except BaseException:  # the answer to this question must not be taken for that to the next
                self._end(process)
                raise
            if not line:
                self._end(process)
            return line.strip() == b"true"

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        return subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=engine_environment(),
        )

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._process = None


_checker = _Checker()


@lru_cache(maxsize=4096)
def equivalent(gold: str, pred: str) -> bool:
    """Whether math-verify finds both equal; False where it cannot decide within its limits."""
    return _checker.ask(gold, pred)
