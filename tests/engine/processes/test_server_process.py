"""What a server's log says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.errors import DiskError
from engine.processes import guardian, server_process
from engine.processes.server_process import ServerProcess


class Guardian:
    """A guardian that is played: it ends with `code` when it is waited for, or is stuck until it is killed."""

    pid = 4711

    def __init__(self, said: list[object], code: int | None) -> None:
        self._said = said
        self._code = code
        self.returncode: int | None = None
        self.stdin = self

    def close(self) -> None:
        self._said.append("close")

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> None:
        self._said.append(("wait", timeout))
        if self._code is None and timeout is not None:
            raise subprocess.TimeoutExpired("guardian", timeout)
        self.returncode = -9 if self._code is None else self._code


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], Any]:
    """Starts a process under a played guardian; returns it and what is then said to the guardian."""

    def start(code: int | None) -> tuple[ServerProcess, list[object]]:
        said: list[object] = []
        monkeypatch.setattr(server_process.subprocess, "Popen", lambda *given, **how: Guardian(said, code))
        monkeypatch.setattr(os, "killpg", lambda group, number: said.append((group, number)))
        process = ServerProcess(tmp_path / "server.log", grace=1.5)
        process.start(["serve"], {})
        return process, said

    return start


@pytest.mark.parametrize(
    ("code", "killed"), [(0, False), (3, False), (143, False), (-15, True), (None, True)]
)
def test_the_group_of_a_guardian_that_is_stuck_or_was_killed_is_killed(
    started: Callable[[int | None], Any], code: int | None, killed: bool
) -> None:
    """One that ended by itself has left nothing, and its number may be another's by now."""
    process, said = started(code)
    assert process.running and process.exit_code is None
    process.stop()
    kill = [(4711, signal.SIGKILL)] if killed else []
    assert said == ["close", ("wait", 6.5), *kill, ("wait", None)]
    assert not process.running and process.exit_code is None
    process.stop()
    assert len(said) == 3 + killed, "there is none any more"


def test_another_start_ends_the_process_before(started: Callable[[int | None], Any]) -> None:
    process, said = started(0)
    process.start(["serve"], {})
    assert said == ["close", ("wait", 6.5), ("wait", None)] and process.running


def test_a_process_that_ended_tells_how(started: Callable[[int | None], Any]) -> None:
    process, _ = started(3)
    process._guardian.wait()
    assert (process.running, process.exit_code) == (False, 3)


def test_a_server_runs_under_a_guardian_and_its_log_begins_anew_when_it_is_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[tuple[list[str], dict[str, Any]]] = []

    def popen(command: list[str], **how: Any) -> Guardian:
        commands.append((command, how))
        os.write(how["stdout"].fileno(), f"line {len(commands)}\n".encode())
        return Guardian([], 0)

    monkeypatch.setattr(server_process.subprocess, "Popen", popen)
    monkeypatch.setattr(server_process, "_LARGEST_LOG", 14)
    log = tmp_path / "a" / "b" / "server.log"
    process = ServerProcess(log, grace=2.5)
    for number in (1, 2):
        process.start(["serve", "--port", "1"], {"KEY": "value"})
        assert process.tail() == [f"line {number}"], "of this start alone"
    assert log.read_text() == "line 1\nline 2\n" and not log.with_name("server.log.1").exists()
    process.start(["serve"], {})
    assert log.read_text() == "line 1\nline 2\nline 3\n", "14 letters were as many as it may have"
    log.write_text("fifteen letters")
    process.start(["serve"], {})
    assert log.read_text() == "line 4\n" and process.tail() == ["line 4"]
    assert log.with_name("server.log.1").read_text() == "fifteen letters"
    command, how = commands[0]
    assert command == [sys.executable, "-I", str(guardian.__file__), "2.5", "serve", "--port", "1"]
    assert (how["stdin"], how["stderr"], how["start_new_session"], how["env"]) == (
        subprocess.PIPE, subprocess.STDOUT, True, {"KEY": "value"},
    )  # fmt: skip


def test_a_log_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DiskError):
        ServerProcess(tmp_path / "file" / "server.log", grace=1.0).start(["serve"], {})


def test_the_last_lines_are_short_and_few(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    process = ServerProcess(log, grace=1.0)
    log.write_bytes(
        b"\n".join([*(b"%d" % number for number in range(30)), b"error: " + b"x" * 500, b"h\xff"])
    )
    assert process.tail() == [*map(str, range(12, 30)), "error: " + "x" * 393, "h\ufffd"]
    log.write_text("early\n" + "y" * 16_376 + "\nlater\n")
    assert process.tail() == ["", "y" * 400, "later"]


def test_before_a_start_the_last_lines_are_those_of_an_earlier_process(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    process = ServerProcess(log, grace=1.0)
    assert process.tail() == [] and not process.running and process.exit_code is None
    log.write_text("one\ntwo\nthree\n")
    assert process.tail() == ["one", "two", "three"] and process.tail(2) == ["two", "three"]
