"""A server as a subprocess: started, watched, its output kept, ended with everything it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from engine.errors import disk_errors
from engine.processes import guardian as guardian_module
from engine.regular_file import open_to_append, open_to_read

_TAIL_BYTES = 16_384
_LONGEST_LINE = 400
_LARGEST_LOG = 20_000_000


class ServerProcess:
    """One server at a time, under a guardian that ends it when this process ends, however it ends.

    Output goes to `log`, appended; one that has grown large is put aside as `<log>.1` at the next start. What cannot be
    reached: if this process and the guardian are killed at once, the server dies, but not what it had started; if the
    guardian alone is, not what the server had put into a session of its own.
    """

    def __init__(self, log: Path, grace: float) -> None:
        """`grace`: seconds between SIGTERM and SIGKILL."""
        self._log = log
        self._grace = grace
        self._guardian: subprocess.Popen[bytes] | None = None
        self._begins = 0

    def start(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        """Start `command` in the environment `env`. What is wrong with it shows in the log, and `running` is False
        soon. Raises DiskError where the log cannot be written."""
        self.stop()
        with disk_errors(self._log):
            self._log.parent.mkdir(parents=True, exist_ok=True)
            if self._log.is_file() and self._log.stat().st_size > _LARGEST_LOG:
                self._log.replace(self._log.with_name(self._log.name + ".1"))
            with open_to_append(self._log) as output:
                self._begins = output.tell()
                self._guardian = subprocess.Popen(
                    # -I: neither the current folder nor this one stands before the standard library
                    [sys.executable, "-I", str(guardian_module.__file__), str(self._grace), *command],
                    stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, start_new_session=True, env=env,
                )  # fmt: skip

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._guardian is not None and self._guardian.poll() is None

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it runs, or if it was never started."""
        return None if self._guardian is None else self._guardian.poll()

    def stop(self) -> None:
        """SIGTERM, and SIGKILL to what is left after the grace. Returns when all of it has ended."""
        guardian, self._guardian = self._guardian, None
        if guardian is None:
            return
        assert guardian.stdin is not None
        with suppress(OSError):
            guardian.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            guardian.wait(self._grace + 5)
        stuck_or_killed = guardian.returncode is None or guardian.returncode < 0
        if stuck_or_killed:  # its group is the server's
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(guardian.pid, signal.SIGKILL)
        guardian.wait()

    def tail(self, lines: int = 20) -> list[str]:
        """The last lines since it was last started."""
        try:
            with open_to_read(self._log) as file:
                file.seek(max(self._begins, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
                tail = file.read().decode(errors="replace").splitlines()[-lines:]
        except OSError:
            return []
        return [line[:_LONGEST_LINE] for line in tail]
