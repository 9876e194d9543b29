from __future__ import annotations

import errno
import json
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.runs.client import send
from engine.errors import RunError
from engine.events import Event, StagePaused, StageResumed
from engine.run import control
from engine.run.control import ControlServer, answer
from engine.run.control_address import LONGEST, fits, reachable_address
from engine.run.directory import RunDirectory
from engine.run.gate import Gate, StopRequested
from engine.run.lock import RunLock
from tests.exactly import exactly


def no_choice(choice: str, stage: str, undo: bool) -> list[str]:
    raise RunError(what=f"the run has no stage `{stage}`", where="", hint="")


@pytest.fixture
def gate() -> Gate:
    return Gate(lambda event: None)


@pytest.fixture
def run(tmp_path: Path, gate: Gate) -> Iterator[RunDirectory]:
    """A folder whose worker is this process, with a server in it."""
    directory = RunDirectory(tmp_path)
    lock = RunLock(directory.lock)
    server = ControlServer(directory.control, gate, lambda: {"state": gate.state}, no_choice)
    yield directory
    server.close()
    lock.release()
    assert not os.path.lexists(directory.control)


@pytest.fixture
def lying(tmp_path: Path) -> Iterator[Callable[[Iterator[bytes]], RunDirectory]]:
    """Folders whose worker is this process, which sends the given bytes as its reply."""
    locks: list[RunLock] = []

    def make(reply: Iterator[bytes]) -> RunDirectory:
        run = RunDirectory(tmp_path / str(len(locks)))
        run.path.mkdir()
        locks.append(RunLock(run.lock))
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(run.control))
        server.listen()
        threading.Thread(target=answer_with, args=(server, reply), daemon=True).start()
        return run

    yield make
    for lock in locks:
        lock.release()


def answer_with(server: socket.socket, reply: Iterator[bytes]) -> None:
    with server, server.accept()[0] as connection:
        connection.recv(1000)
        with suppress(OSError):
            for part in reply:
                connection.sendall(part)


def talk(path: Path, data: bytes) -> list[dict[str, object]]:
    """All replies to `data`."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(path))
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as lines:
            return [json.loads(line) for line in lines]


def test_commands_reach_the_gate(run: RunDirectory, gate: Gate) -> None:
    assert send(run, "status").status == {"state": "running"}
    assert send(run, "pause").status == {"state": "pausing"}
    assert send(run, "continue").status == {"state": "running"}
    assert send(run, "stop").status == {"state": "stopping"} and gate.stopping
    assert not send(run, "explode").ok


def test_a_choice_about_a_stage_is_answered_with_what_it_changes() -> None:
    """Or with why not, and what can be done."""
    asked: list[tuple[str, str, bool]] = []

    def choose(choice: str, stage: str, undo: bool) -> list[str]:
        asked.append((choice, stage, undo))
        if stage == "pool":
            raise RunError(what="the run has no stage `pool`", where="r/1", hint="one of mine, select")
        return [stage, "eval"]

    def answered(**fields: object) -> dict[str, object]:
        gate = Gate(lambda event: None)
        return answer(
            json.dumps({"command": "stage", **fields}).encode(), gate, lambda: {"state": "x"}, choose
        )

    changed = {"ok": True, "stages": ["select", "eval"], "status": {"state": "x"}}
    assert answered(choice="skip", stage="select") == changed
    assert answered(choice="last", stage="select", undo=True) == changed
    assert answered(choice="skip", stage="pool") == {
        "ok": False, "error": "the run has no stage `pool`", "mend": "one of mine, select",
    }  # fmt: skip
    assert asked == [("skip", "select", False), ("last", "select", True), ("skip", "pool", False)]
    wrong = {"ok": False, "error": "expected 'choice': one of again, skip, last, and a 'stage'"}
    for fields in ({}, {"choice": "skip"}, {"choice": "none", "stage": "a"}, {"choice": "skip", "stage": 1}):
        assert answered(**fields) == wrong
    assert answered(choice="skip", stage="select", undo=1) == wrong and len(asked) == 3


def test_what_is_no_command_is_answered_with_those_that_are() -> None:
    gate = Gate(lambda event: None)
    assert answer(b"stop", gate, dict, no_choice) == {"ok": False, "error": "this line is not JSON"}
    assert answer(b'{"command": "explode"}', gate, dict, no_choice) == {
        "ok": False,
        "error": "expected {'command': one of pause, continue, stop, stop_after, stage, status}",
    }
    assert answer(b'{"command": "stop_after"}', gate, lambda: {"state": gate.state}, no_choice) == {
        "ok": True, "status": {"state": "stopping after this"},
    }  # fmt: skip


def test_who_listens_keeps_no_process_from_its_end(run: RunDirectory) -> None:
    (thread,) = (one for one in threading.enumerate() if one.name == "control")
    assert thread.daemon


def test_socket_is_for_its_owner_alone(run: RunDirectory) -> None:
    assert stat.S_IMODE(run.control.stat().st_mode) == 0o600


@given(
    st.binary(max_size=60)
    | st.sampled_from([b"{}", b"[]", b"null", b'{"command":1}', b'{"command":["stop"]}'])
)
def test_garbage_is_answered_and_changes_nothing(line: bytes) -> None:
    gate = Gate(lambda event: None)
    reply = answer(line, gate, dict, no_choice)
    assert reply["ok"] is False and reply["error"] and gate.state == "running"


def test_worker_outlives_garbage_long_lines_and_hang_ups(run: RunDirectory) -> None:
    assert [reply["ok"] for reply in talk(run.control, b'\xff\n{"command":"status"}\n\n')] == [
        False,
        True,
        False,
    ]
    assert talk(run.control, b"[" * 60_000 + b"\n")[0]["ok"] is False
    for _ in range(20):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(run.control))
            connection.sendall(b'{"command":"status"}\n')
    assert send(run, "status").ok


def test_long_line_is_refused(run: RunDirectory) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(run.control))
        connection.sendall(b"x" * (1 << 16))
        assert b"too long" in connection.recv(1000)
    assert send(run, "status").ok


def test_the_longest_address_is_one_that_the_kernel_takes() -> None:
    assert fits("/" * LONGEST) and not fits("/" * (LONGEST + 1))
    assert fits("é" * (LONGEST // 2)) and not fits("é" * (LONGEST // 2 + 1)), "bytes, not letters"
    with socket.socket(socket.AF_UNIX) as taken, pytest.raises(FileNotFoundError):
        taken.connect("/" + "x" * (LONGEST - 1))
    with (
        socket.socket(socket.AF_UNIX) as refused,
        pytest.raises(OSError, match=exactly("AF_UNIX path too long")),
    ):
        refused.connect("/" + "x" * (LONGEST + 1))


def test_a_long_path_is_written_in_a_way_that_is_short_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is, as where a link leads, as seen from the folder one is in; None where none of them is short enough."""
    deep = tmp_path / ("d" * 100) / ("e" * 60)
    deep.mkdir(parents=True)
    (tmp_path / "here.sock").touch()
    (deep / "link.sock").symlink_to(tmp_path / "here.sock")
    assert reachable_address(tmp_path / "here.sock") == f"{tmp_path}/here.sock"
    assert reachable_address(deep / "link.sock") == os.path.realpath(tmp_path / "here.sock")
    assert reachable_address(deep / "own.sock") is None
    monkeypatch.chdir(deep.parent)
    assert reachable_address(deep / "own.sock") == f"{deep.name}/own.sock"
    monkeypatch.chdir(deep)
    assert reachable_address(deep / "own.sock") == "own.sock"


def test_path_longer_than_an_address(tmp_path: Path, gate: Gate) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    run = RunDirectory(deep)
    lock = RunLock(run.lock)
    server = ControlServer(run.control, gate, dict, no_choice)
    folder = run.control.resolve().parent
    assert run.control.is_symlink() and stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert send(run, "status").ok
    server.close()
    lock.release()
    assert not folder.exists() and not os.path.lexists(run.control)


def test_socket_of_a_killed_worker_is_replaced(tmp_path: Path, gate: Gate) -> None:
    for path in (tmp_path, tmp_path / ("d" * 100)):
        path.mkdir(exist_ok=True)
        run = RunDirectory(path)
        lock = RunLock(run.lock)
        ControlServer(run.control, gate, dict, no_choice)  # left behind
        folder = run.control.resolve().parent
        again = ControlServer(run.control, gate, dict, no_choice)
        assert send(run, "status").ok
        assert folder == path or not folder.exists()  # the one that a long path's link led to
        again.close()
        lock.release()


def test_a_file_system_without_sockets_gets_a_link_to_one(
    tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = control._Server

    def server(address: str, *given: Any) -> Any:
        if address.startswith(str(tmp_path)):
            raise OSError(errno.EPERM, "Operation not permitted")
        return real(address, *given)

    monkeypatch.setattr(control, "_Server", server)
    run = RunDirectory(tmp_path)
    lock = RunLock(run.lock)
    listening = ControlServer(run.control, gate, dict, no_choice)
    assert run.control.is_symlink() and send(run, "status").ok
    listening.close()
    lock.release()
    assert not os.path.lexists(run.control)


def test_only_what_a_worker_left_is_replaced(tmp_path: Path, gate: Gate) -> None:
    """Neither the socket of another program, to which a link leads, nor a file."""
    foreign = tmp_path / "foreign.sock"
    run = RunDirectory(tmp_path / "run")
    run.path.mkdir()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(foreign))
        run.control.symlink_to(foreign)
        ControlServer(run.control, gate, dict, no_choice).close()
    assert foreign.is_socket() and not os.path.lexists(run.control)
    run.control.write_text("precious")
    with pytest.raises(OSError):
        ControlServer(run.control, gate, dict, no_choice)
    assert run.control.read_text() == "precious"


LISTENING = """
import socket, sys, time
with socket.socket(socket.AF_UNIX) as server:
    server.bind(sys.argv[1])
    server.listen()
    print("listens", flush=True)
    connection, _ = server.accept()
    print(connection.recv(1000), flush=True)
    time.sleep(60)
"""


def test_a_socket_of_another_process_is_told_nothing(tmp_path: Path) -> None:
    """`control.sock` of a run from elsewhere may be a link to any socket of the user's."""
    run = RunDirectory(tmp_path / "run")
    run.path.mkdir()
    address = tmp_path / "other.sock"
    other = subprocess.Popen(
        [sys.executable, "-c", LISTENING, str(address)], stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None and other.stdout.readline() == "listens\n"
    run.control.symlink_to(address)
    lock = RunLock(run.lock)
    with pytest.raises(
        RunError,
        match=exactly(
            "the worker does not answer: another process listens at its socket (…/run/control.sock): see with "
            "`steer-tui` whether it still runs; if it runs on another machine, send the command there"
        ),
    ):
        send(run, "stop")
    lock.release()
    with pytest.raises(
        RunError,
        match=exactly(
            "the worker does not answer: another process listens at its socket (…/run/control.sock): see with "
            "`steer-tui` whether it still runs; if it runs on another machine, send the command there"
        ),
    ):
        send(run, "stop")
    assert other.stdout.readline() == "b''\n"
    other.kill()
    other.wait()


@pytest.mark.parametrize(
    "reply",
    [
        b"[" * 60_000 + b"\n",
        b'{"ok":true,"status":' + b'{"a":' * 10_000 + b"\n",
        b"[]\n",
        b'{"ok":1}\n',
        b'{"ok":true,"status":[]}\n',
        b"\xff\n",
        b"",
    ],
)
def test_a_reply_that_is_none_is_one_error(
    lying: Callable[[Iterator[bytes]], RunDirectory], reply: bytes
) -> None:
    with pytest.raises(
        RunError,
        match=exactly(
            "the worker does not answer: … (…/0/control.sock): see with `steer-tui` whether it still runs; if "
            "it runs on "
            "another machine, send the command there"
        ),
    ):
        send(lying(iter([reply])), "status")


def test_a_reply_without_an_end_is_left_soon(lying: Callable[[Iterator[bytes]], RunDirectory]) -> None:
    """Neither its size nor its slowness holds anybody up."""
    sent = 0

    def much() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(1000):
            sent += 1 << 16
            yield b"x" * (1 << 16)

    with pytest.raises(
        RunError,
        match=exactly(
            "the worker does not answer: JSON is malformed: invalid character (byte 0) (…/0/control.sock): see "
            "with `steer-tui` whether it still runs; if it runs on another machine, send the command there"
        ),
    ):
        send(lying(much()), "status", timeout=20)
    assert sent < 1 << 23

    def slow() -> Iterator[bytes]:
        for _ in range(200):
            time.sleep(0.05)
            yield b"x"

    began = time.monotonic()
    with pytest.raises(
        RunError,
        match=exactly(
            "the worker does not answer: timed out (…/1/control.sock): see with `steer-tui` whether it still "
            "runs; if it runs on another machine, send the command there"
        ),
    ):
        send(lying(slow()), "status", timeout=0.5)
    assert time.monotonic() - began < 5


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(
        RunError,
        match=exactly(
            "the worker does not answer (…/control.sock): no worker runs: resume the run to start a worker"
        ),
    ):
        send(RunDirectory(tmp_path), "status")


def test_gate_waits_between_items_and_says_so(wait_until: Callable[..., None]) -> None:
    events: list[Event] = []
    states: list[str] = []
    gate = Gate(events.append, states.append)
    gate.checkpoint()
    gate.pause()
    assert gate.state == "pausing"
    passed = threading.Event()
    thread = threading.Thread(target=lambda: (gate.checkpoint(), passed.set()))
    thread.start()
    wait_until(lambda: gate.state == "paused", "the pause")
    assert not passed.is_set()
    gate.unpause()
    thread.join(10)
    assert passed.is_set() and states == ["paused", "running"]
    assert [type(event) for event in events] == [StagePaused, StageResumed]


def test_stop_ends_a_pause_without_going_on() -> None:
    events: list[Event] = []
    gate = Gate(events.append)
    gate.pause()
    threading.Timer(0.1, gate.stop).start()
    with pytest.raises(StopRequested):
        gate.checkpoint()
    assert [type(event) for event in events] == [StagePaused]
    with pytest.raises(StopRequested):
        gate.checkpoint()
