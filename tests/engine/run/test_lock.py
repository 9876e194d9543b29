"""Who holds `worker.lock`: the kernel's word, not the file's."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.run import lock as lock_module
from engine.run.directory import RunDirectory, inspect, new_record
from engine.run.lock import RunLock, holds, process_start, read_lock, signal_holder

HOLDING = """
import sys
from pathlib import Path
from engine.run.lock import RunLock
lock = RunLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the user's that has nothing to do with any run."""
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds `tmp_path/worker.lock`."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(tmp_path / "worker.lock")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()


def forge(path: Path, pid: int) -> None:
    """What a hostile archive may hold in place of a lock file: true in every word, and yet no lock."""
    holder = {"pid": pid, "host": os.uname().nodename, "started": process_start(pid)}
    path.write_text(json.dumps(holder).ljust(4096))


def test_a_file_that_names_a_process_does_not_have_it_stopped(
    tmp_path: Path, bystander: subprocess.Popen[bytes]
) -> None:
    path = tmp_path / "worker.lock"
    forge(path, bystander.pid)
    info = read_lock(path)
    assert info is not None and info.pid == bystander.pid and not info.alive
    assert not signal_holder(path)
    time.sleep(0.2)
    assert bystander.poll() is None


def test_a_worker_on_another_machine_is_not_stopped_by_its_number_here(
    tmp_path: Path, bystander: subprocess.Popen[bytes]
) -> None:
    path = tmp_path / "worker.lock"
    path.write_text(json.dumps({"pid": bystander.pid, "host": "elsewhere", "started": ""}))
    info = read_lock(path)
    assert info is not None and info.alive and not signal_holder(path)
    time.sleep(0.05)
    assert bystander.poll() is None


def test_a_worker_that_ends_before_it_can_be_asked_is_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []

    def kill(pid: int, number: int) -> None:
        asked.append((pid, number))
        raise ProcessLookupError

    lock = RunLock(tmp_path / "worker.lock")
    monkeypatch.setattr(os, "kill", kill)
    assert not signal_holder(tmp_path / "worker.lock") and asked == [(os.getpid(), signal.SIGTERM)]
    lock.release()


def test_a_lock_that_is_held_is_not_that_of_an_earlier_process(tmp_path: Path) -> None:
    """Whose number this one has."""
    path = tmp_path / "worker.lock"
    lock = RunLock(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"started": "another-time"}))
    info = read_lock(path)
    assert holds(path, os.getpid()) and info is not None and not info.alive
    lock.release()


@pytest.mark.parametrize(("state", "start"), [("S", "01234567-22"), ("Z", None), ("X", None)])
def test_when_a_process_began_since_the_machine_did(
    monkeypatch: pytest.MonkeyPatch, state: str, start: str | None
) -> None:
    """The 22nd field, behind a name that may hold anything. Another start of the machine counts anew."""
    texts = {
        "/proc/77/stat": f"77 (a) Z 1 ) {state} {' '.join(map(str, range(4, 53)))}",
        "/proc/sys/kernel/random/boot_id": "01234567-89ab",
    }
    monkeypatch.setattr(lock_module.Path, "read_text", lambda path: texts[str(path)])
    assert process_start(77) == start


@pytest.mark.parametrize(
    ("command", "held"),
    [("python -P -m engine run {}", True), ("python -m engine run {}/b", False), ("less {}", False),
     ("python -m engine run {} --x", False), ("python -m engine run /old{}", False), ("", False)],
)  # fmt: skip
def test_where_locks_cannot_be_listed_the_command_line_is_that_of_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, held: bool
) -> None:
    def run(asked: list[str], **how: Any) -> Any:
        assert asked == ["ps", "-ww", "-o", "command=", "-p", "77"]
        return SimpleNamespace(stdout=f"{command.format(tmp_path)}\n")

    def read_text(path: Path) -> str:
        raise PermissionError(path)

    (tmp_path / "worker.lock").touch()
    monkeypatch.setattr(lock_module.Path, "read_text", read_text)
    monkeypatch.setattr(lock_module, "subprocess", SimpleNamespace(run=run))
    assert holds(tmp_path / "worker.lock", 77) is held


HOLDER = b'{"pid": 1, "host": "h", "started": "s", "more": %s}'


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b'{"pid": 1}',
     HOLDER.replace(b'"h"', b'"\xff"') % b"1", HOLDER % (b"[" * 100_000 + b"]" * 100_000)],
    ids=["empty", "torn", "list", "short", "no text", "deep"],
)  # fmt: skip
def test_what_is_no_lock_file_is_nobodys(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "worker.lock").write_bytes(data)
    assert read_lock(tmp_path / "worker.lock") is None
    (tmp_path / "worker.lock").write_bytes(HOLDER % b"1")
    assert read_lock(tmp_path / "worker.lock") is not None


def test_a_copied_lock_file_does_not_have_the_worker_of_the_original_stopped(
    tmp_path: Path, worker: subprocess.Popen[str]
) -> None:
    copy = tmp_path / "copy" / "worker.lock"
    copy.parent.mkdir()
    copy.write_bytes((tmp_path / "worker.lock").read_bytes())
    assert not signal_holder(copy)
    time.sleep(0.2)
    assert worker.poll() is None


def test_a_link_to_the_lock_of_another_run_does_not_have_its_worker_stopped(
    tmp_path: Path, worker: subprocess.Popen[str]
) -> None:
    path = tmp_path / "worker.lock"
    with path.open("r+b") as file:
        forge(path, worker.pid)
        file.flush()
    link = tmp_path / "foreign" / "worker.lock"
    link.parent.mkdir()
    link.symlink_to(path)
    assert holds(path, worker.pid) and read_lock(path) is not None
    assert read_lock(link) is None and not signal_holder(link)
    time.sleep(0.2)
    assert worker.poll() is None


def test_a_link_is_no_lock(tmp_path: Path) -> None:
    lock = RunLock(tmp_path / "worker.lock")
    (tmp_path / "link").symlink_to(tmp_path / "worker.lock")
    assert read_lock(tmp_path / "worker.lock") is not None and read_lock(tmp_path / "link") is None
    lock.release()


@pytest.mark.parametrize(
    ("listed", "start"),
    [
        ("Ss   Mon Jan  1 10:00:00 2024\n", "Mon Jan  1 10:00:00 2024"), ("Z+   Mon Jan  1 10:00:00 2024\n", None),
        ("", None), ("Ss\n", None),
    ],
)  # fmt: skip
def test_elsewhere_the_list_of_processes_says_when_one_began(
    monkeypatch: pytest.MonkeyPatch, listed: str, start: str | None
) -> None:
    """As on macOS."""
    asked: list[Any] = []

    def run(command: list[str], **how: Any) -> Any:
        asked.append((command, how))
        return SimpleNamespace(stdout=listed)

    monkeypatch.setattr(lock_module, "sys", SimpleNamespace(platform="darwin"))
    monkeypatch.setattr(lock_module, "subprocess", SimpleNamespace(run=run))
    assert process_start(77) == start
    how = {"capture_output": True, "text": True, "check": False}
    assert asked == [(["ps", "-o", "stat=,lstart=", "-p", "77"], how)]


def test_a_clock_that_was_set_back_makes_no_worker_seem_hung(tmp_path: Path) -> None:
    """The last heartbeat is an hour ahead then; the next one is now again."""
    lock = RunLock(tmp_path / "worker.lock")
    os.utime(tmp_path / "worker.lock", (time.time() + 3600, time.time() + 3600))
    ahead = read_lock(tmp_path / "worker.lock")
    assert ahead is not None and (ahead.alive, ahead.age) == (True, 0.0)
    os.utime(tmp_path / "worker.lock", (time.time() - 3600, time.time() - 3600))
    lock.beat()
    now = read_lock(tmp_path / "worker.lock")
    assert now is not None and now.alive and now.age < 30
    lock.release()


@pytest.mark.parametrize(
    ("beat", "alive", "hung"), [(70.5, True, False), (70.0, False, False), (69.5, False, True)]
)
def test_thirty_seconds_without_a_heartbeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beat: float, alive: bool, hung: bool
) -> None:
    """A worker on another machine counts as living for less than that, one on this machine as hung after that."""
    run = RunDirectory(tmp_path)
    run.write(new_record("r", "1", seed=0, stages=[], config={}, versions={}))
    lock = RunLock(run.lock)
    os.utime(run.lock, (beat, beat))
    monkeypatch.setattr(lock_module, "time", SimpleNamespace(time=lambda: 100.0))
    status = inspect(run.path)
    assert (status.heartbeat_age, status.state == "hung") == (100.0 - beat, hung)
    holder = json.loads(run.lock.read_text()) | {"host": "elsewhere"}
    run.lock.write_text(json.dumps(holder))
    os.utime(run.lock, (beat, beat))
    elsewhere = read_lock(run.lock)
    assert elsewhere is not None and elsewhere.alive is alive
    lock.release()


def test_a_file_that_another_process_locks_does_not_have_the_named_one_stopped(
    tmp_path: Path, bystander: subprocess.Popen[bytes]
) -> None:
    path = tmp_path / "worker.lock"
    forge(path, bystander.pid)
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert holds(path, os.getpid()) and not holds(path, bystander.pid)
        assert not signal_holder(path)
    time.sleep(0.2)
    assert bystander.poll() is None


@pytest.mark.parametrize(
    ("line", "held"),
    [
        ("1: FLOCK  ADVISORY  WRITE 77 08:01:{inode} 0 EOF", True),
        ("1: FLOCK  ADVISORY  WRITE 77 00:{inode}:9 0 EOF", False),  # another file
        ("1: FLOCK  ADVISORY  WRITE 770 08:01:{inode} 0 EOF", False),  # another process
        ("1: -> FLOCK  ADVISORY  WRITE 77 08:01:{inode} 0 EOF", False),  # it waits for the lock
        ("77 {inode}", False),
        ("", False),
    ],
)
def test_the_kernels_list_names_process_and_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, held: bool
) -> None:
    path = tmp_path / "worker.lock"
    path.touch()
    first = f"0: POSIX  ADVISORY  READ  77 08:01:1{path.stat().st_ino} 128 128"
    listed = f"{first}\n{line.format(inode=path.stat().st_ino)}\n"
    monkeypatch.setattr(lock_module.Path, "read_text", lambda path: listed)
    assert holds(path, 77) is held


def test_the_process_that_holds_the_lock_is_asked_to_stop(
    tmp_path: Path, worker: subprocess.Popen[str]
) -> None:
    path = tmp_path / "worker.lock"
    assert holds(path, worker.pid)
    assert signal_holder(path)
    assert worker.wait(timeout=30) == -15
    assert not holds(path, worker.pid) and not signal_holder(path)


def test_nothing_there_is_nobody_to_stop(tmp_path: Path) -> None:
    assert not signal_holder(tmp_path / "worker.lock")
    RunLock(tmp_path / "worker.lock").release()
    assert not signal_holder(tmp_path / "worker.lock")


def test_without_a_list_of_locks_the_command_line_must_name_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bystander: subprocess.Popen[bytes]
) -> None:
    """As on macOS."""
    real = Path.read_text

    def no_locks(path: Path, *given: object, **named: object) -> str:
        if str(path) == "/proc/locks":
            raise FileNotFoundError(path)
        return real(path, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(lock_module.Path, "read_text", no_locks)
    path = tmp_path / "worker.lock"
    path.touch()
    code = "import sys; sys.stdin.read()"
    named = subprocess.Popen(
        [sys.executable, "-c", code, "-m", "engine", "run", str(tmp_path)], stdin=subprocess.PIPE
    )
    try:
        assert holds(path, named.pid)
        assert not holds(path, bystander.pid)
        other = tmp_path / "other" / "worker.lock"
        other.parent.mkdir()
        other.touch()
        assert not holds(other, named.pid)
    finally:
        named.kill()
        named.wait()
