"""What a command leaves running is ended by its guardian, and how it ended is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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


def test_children_are_those_whose_parent_the_guardian_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process may be called anything, and end while it is looked at."""
    monkeypatch.setattr(guardian, "Path", lambda folder: tmp_path if folder == "/proc" else None)
    mine, other = os.getpid(), os.getpid() + 1
    for pid, name, parent in (
        (31, "sh", mine),
        (32, "sh", other),
        (33, f"a) S {other} (b", mine),
        (34, "x", 1),
    ):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_bytes(b"%d (%s\xff) S %d 7 7" % (pid, name.encode(), parent))
    (tmp_path / "35" / "stat").mkdir(parents=True)  # it cannot be read
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "stat").write_text(f"31 (sh) S {mine} 7")
    assert sorted(guardian._children()) == [31, 33]


class Child:
    """A command that is played: it ends by itself, or when it is killed."""

    def __init__(self, code: int, deaf: bool = False) -> None:
        self.done: list[object] = []
        self._code, self._deaf = code, deaf

    def terminate(self) -> None:
        self.done.append("terminate")

    def kill(self) -> None:
        self.done.append("kill")

    def wait(self, seconds: float | None = None) -> int:
        self.done.append(("wait", seconds))
        if self._deaf:
            raise subprocess.TimeoutExpired("command", 1)
        return self._code


@pytest.mark.parametrize("deaf", [False, True])
def test_the_end_of_standard_input_is_the_commands(monkeypatch: pytest.MonkeyPatch, deaf: bool) -> None:
    """What is written there is of no interest; a command that does not end in time is killed."""
    written = iter([b"x", b"y", b""])
    monkeypatch.setattr(guardian, "os", SimpleNamespace(read=lambda file, count: next(written)))
    monkeypatch.setattr(guardian, "time", SimpleNamespace(monotonic=lambda: 100.0))
    child: Any = Child(0, deaf)
    deadline: list[float] = []
    guardian._watch(child, 2.5, deadline)
    assert next(written, None) is None and deadline == [102.5]
    assert child.done == ["terminate", ("wait", 2.5), *(["kill"] if deaf else [])]


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the system is asked for."""
    asked: list[object] = []
    library = SimpleNamespace(prctl=lambda *given: asked.append(("prctl", *given)))
    monkeypatch.setattr(guardian, "_LINUX", True)
    monkeypatch.setattr(guardian, "ctypes", SimpleNamespace(CDLL=lambda name: library))
    monkeypatch.setattr(guardian.signal, "signal", lambda *given: asked.append(given))
    return asked


def test_a_command_dies_with_its_guardian_and_hears_signals(system: list[object]) -> None:
    """Signals that the guardian ignores would else be ignored by what it starts."""
    guardian._die_with_guardian()
    default, death_signal = signal.SIG_DFL, 1
    assert system == [
        (signal.SIGTERM, default),
        (signal.SIGINT, default),
        ("prctl", death_signal, signal.SIGKILL),
    ]


@pytest.mark.parametrize(
    ("code", "returned", "said"), [(0, 0, []), (3, 3, []), (-15, 143, ["ended by SIGTERM"])]
)
def test_a_guardian_ignores_signals_adopts_and_ends_what_is_left(
    system: list[object], monkeypatch: pytest.MonkeyPatch, code: int, returned: int, said: list[str]
) -> None:
    commands: list[object] = []
    lines: list[str] = []

    def start(command: list[str], stdin: int, preexec_fn: object) -> Child:
        commands.append((command, stdin, preexec_fn))
        return Child(code)

    monkeypatch.setattr(guardian.subprocess, "Popen", start)
    monkeypatch.setattr(guardian, "_watch", lambda child, grace, deadline: deadline.append(grace))
    monkeypatch.setattr(guardian, "_end_what_is_left", lambda *deadline: commands.append(deadline))
    monkeypatch.setattr(guardian, "_say", lines.append)

    class AtOnce:
        def __init__(self, target: Any, args: Any, daemon: bool) -> None:
            assert daemon, "it must not keep the guardian alive"
            self.start = lambda: target(*args)

    monkeypatch.setattr(guardian.threading, "Thread", AtOnce)
    assert guardian.main(["2.5", "serve", "--port", "1"]) == returned
    assert commands == [
        (["serve", "--port", "1"], subprocess.DEVNULL, guardian._die_with_guardian),
        (2.5,),
    ]
    subreaper = 36
    assert system == [
        (signal.SIGTERM, signal.SIG_IGN),
        (signal.SIGINT, signal.SIG_IGN),
        ("prctl", subreaper, 1),
    ]
    assert lines == said
