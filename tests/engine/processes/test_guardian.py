"""What a command leaves running is ended by its guardian, and how it ended is said."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from engine.processes import guardian

TERM, KILL = guardian.signal.SIGTERM, guardian.signal.SIGKILL


class Machine:
    """Seconds pass while the guardian sleeps, and what it started ends a second after it was asked, or when killed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, deaf: set[int], willing: set[int]) -> None:
        self.now = 100
        self.sent: list[tuple[int, int, int]] = []
        """(seconds, process, signal)"""
        self._running, self._deaf, self._ended = deaf | willing, deaf, set[int]()
        monkeypatch.setattr(guardian, "_LINUX", True)
        monkeypatch.setattr(guardian, "_children", lambda: sorted(self._running))
        monkeypatch.setattr(guardian, "time", SimpleNamespace(monotonic=lambda: self.now, sleep=self._sleep))
        monkeypatch.setattr(guardian, "os", SimpleNamespace(kill=self._kill, waitpid=self._wait, WNOHANG=1))

    def _kill(self, pid: int, signal: int) -> None:
        self.sent.append((self.now - 100, pid, signal))
        if signal == KILL or pid not in self._deaf:
            self._ended.add(pid)

    def _wait(self, pid: int, flags: int) -> tuple[int, int]:
        assert self.now < 200, "it waits for ever"
        if not self._running:
            raise ChildProcessError
        return 0, 0

    def _sleep(self, seconds: float) -> None:
        self.now += 1
        self._running -= self._ended


def test_what_is_left_is_asked_once_and_killed_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, deaf={7}, willing={8})
    guardian._end_what_is_left(103)
    assert machine.sent == [(0, 7, TERM), (0, 8, TERM), (3, 7, KILL)]


def test_what_a_command_that_ended_by_itself_has_left_is_killed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = Machine(monkeypatch, deaf={7}, willing={8})
    guardian._end_what_is_left()
    assert machine.sent == [(0, 7, KILL), (0, 8, KILL)]


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (["/no/such"], 127, "cannot start /no/such: No such file or directory\n"),
        (["sh", "-c", "kill -9 $$"], 137, "ended by SIGKILL\n"),
        (["sh", "-c", "exit 3"], 3, ""),
    ],
)
def test_how_a_command_ended(command: list[str], code: int, said: str) -> None:
    arguments = [sys.executable, "-S", guardian.__file__, "1", *command]
    reader, writer = os.pipe()  # the end of standard input would be the end of the command
    ended = subprocess.run(arguments, stdin=reader, capture_output=True, text=True, check=False)
    os.close(reader)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (code, said)
