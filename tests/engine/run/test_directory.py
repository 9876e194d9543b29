from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.errors import DiskError, RunError
from engine.run.directory import (
    RunDirectory,
    StageRecord,
    _folders,
    discover,
    find_runs,
    inspect,
    new_run_id,
)
from engine.run.lock import HUNG_AFTER, RunLock, process_start, read_lock
from tests.exactly import exactly
from tests.made_run import create_run


def create(outputs: Path, name: str = "demo") -> RunDirectory:
    how = {
        "seed": 7,
        "stages": ["mine", "eval"],
        "config": {"run": {"name": name}},
        "versions": {"python": "3"},
    }
    return create_run(outputs, name, config_text="run: {}\n", **how)


def set_status(run: RunDirectory, status: str) -> None:
    record = run.read()
    record.status = status
    run.write(record)


def hold(run: RunDirectory, **changes: object) -> None:
    """A lock file as another process would have left it."""
    holder = {
        "pid": os.getpid(),
        "host": os.uname().nodename,
        "started": process_start(os.getpid()),
    } | changes
    run.lock.write_text(json.dumps(holder))


@pytest.mark.parametrize("spoil", [{"created": 1e300}, {"updated": -1.0}, {"config": None}])
def test_a_hostile_record_is_no_run(tmp_path: Path, spoil: dict[str, object]) -> None:
    """Times that no calendar has, and nesting without end: one error, and the list of runs leaves it out."""
    record = {
        "name": "n", "run_id": "r", "created": 1.0, "updated": 1.0, "seeds": {}, "stages": {}, "versions": {},
        "config": {},
    }  # fmt: skip
    text = json.dumps(record | spoil).replace("null", '{"a":' * 100_000 + "1" + "}" * 100_000)
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(
        RunError,
        match=exactly("this is not a run's record: … (…/run.json): restore the file, or start a new run"),
    ):
        RunDirectory(tmp_path).read()


def test_new_run_is_prepared_and_holds_what_it_was_given(tmp_path: Path) -> None:
    run = create(tmp_path)
    record = run.read()
    assert run.path.parent == tmp_path / "demo" and record.run_id == run.path.name
    assert (record.status, record.seeds, list(record.stages)) == ("prepared", {"run": 7}, ["mine", "eval"])
    assert inspect(run.path).state == "prepared" and not inspect(run.path).alive
    assert run.config.read_text() == "run: {}\n"
    assert (record.config, record.versions, record.changes) == (
        {"run": {"name": "demo"}},
        {"python": "3"},
        {},
    )
    assert record.created == pytest.approx(record.updated, abs=5)
    assert [stage.status for stage in record.stages.values()] == ["pending", "pending"]
    text = run.record.read_text()
    assert text.startswith('{\n  "') and text.endswith("\n}\n"), "a line for each field"


@pytest.mark.parametrize(("created", "known"), [(0.0, True), (-0.5, False), (1e11 - 1, True), (1e11, False)])
def test_the_times_of_a_record_are_those_of_a_calendar(tmp_path: Path, created: float, known: bool) -> None:
    run = create(tmp_path)
    record = json.loads(run.record.read_text()) | {"created": created}
    run.record.write_text(json.dumps(record))
    if known:
        assert run.read().created == created
        return
    with pytest.raises(
        RunError,
        match=exactly(
            "this is not a run's record: its times are none (…/run.json): restore the file, or start a new run"
        ),
    ):
        run.read()


def test_what_is_left_out_is_said_behind_the_status() -> None:
    assert [
        StageRecord(status=status, skipped=skipped).words
        for status in ("pending", "stopped")
        for skipped in (None, False, True)
    ] == ["pending", "pending", "skipped", "stopped", "stopped", "stopped, skipped"]


def test_run_ids_sort_by_time_and_differ() -> None:
    assert new_run_id(1_000_000_000) < new_run_id(1_000_000_001)
    assert new_run_id(1_700_000_000).startswith("20231114-221320-")  # UTC, whatever the place
    assert len({new_run_id(0) for _ in range(50)}) > 40
    assert re.fullmatch(r"19700101-000000-[0-9a-f]{4}", new_run_id(0))


def test_a_run_never_takes_the_folder_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many may begin in the same second, and chance gives two of them the same four characters."""
    drawn = iter(["aaaa", "aaaa", "aaaa", "bbbb"])
    monkeypatch.setattr("secrets.token_hex", lambda size: next(drawn))
    monkeypatch.setattr("time.time", lambda: 1_700_000_000.5)
    first, second = create(tmp_path), create(tmp_path)
    assert [first.path.name, second.path.name] == ["20231114-221320-aaaa", "20231114-221320-bbbb"]
    assert [run.read().run_id for run in (first, second)] == [first.path.name, second.path.name]


@pytest.mark.parametrize("status", ["prepared", "finished", "stopped", "failed"])
def test_state_without_worker_is_the_recorded_one(tmp_path: Path, status: str) -> None:
    run = create(tmp_path)
    set_status(run, status)
    assert inspect(run.path).state == status


@pytest.mark.parametrize("status", ["running", "paused"])
def test_worker_that_vanished_reads_as_interrupted(tmp_path: Path, status: str) -> None:
    run = create(tmp_path)
    set_status(run, status)
    assert inspect(run.path).state == "interrupted"
    hold(run, pid=2**22 + 1)
    assert inspect(run.path).state == "interrupted"


def test_reused_process_number_is_not_taken_for_the_worker(tmp_path: Path) -> None:
    run = create(tmp_path)
    set_status(run, "running")
    hold(run, started="another-time")
    assert inspect(run.path).state == "interrupted"
    run.lock.unlink()
    lock = RunLock(run.lock)
    assert inspect(run.path).state == "running"
    lock.release()


def test_zombie_is_not_alive() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    deadline = time.monotonic() + 60
    while process_start(child.pid) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    child.wait()


def test_old_heartbeat_of_a_living_worker_is_presumed_hung(tmp_path: Path) -> None:
    run = create(tmp_path)
    set_status(run, "running")
    lock = RunLock(run.lock)
    old = time.time() - HUNG_AFTER - 1
    os.utime(run.lock, (old, old))
    status = inspect(run.path)
    assert status.state == "hung" and status.alive and status.pid == os.getpid()
    lock.release()


def test_worker_on_another_host_is_judged_by_its_heartbeat(tmp_path: Path) -> None:
    run = create(tmp_path)
    set_status(run, "running")
    hold(run, host="elsewhere", pid=1, started="x")
    assert inspect(run.path).state == "running"
    old = time.time() - HUNG_AFTER - 1
    os.utime(run.lock, (old, old))
    assert inspect(run.path).state == "interrupted"


def test_second_lock_is_refused_and_names_the_first(tmp_path: Path) -> None:
    path = tmp_path / "worker.lock"
    lock = RunLock(path)
    with pytest.raises(
        RunError,
        match=exactly(
            f"worker {os.getpid()} on … is at work on this run (…): watch it with `steer-tui RUN`, or stop it first"
        ),
    ):
        RunLock(path)
    lock.release()
    assert read_lock(path) is None
    RunLock(path).release()


def test_last_words_outlive_the_worker(tmp_path: Path) -> None:
    """Where neither log nor record can be written any more."""
    run = create(tmp_path)
    set_status(run, "running")
    lock = RunLock(run.lock)
    lock.say("no space left: free some")
    lock.release()
    left = read_lock(run.lock)
    assert left is not None and left.last_words == "no space left: free some"
    hold(run, pid=2**22 + 1, last_words=read_lock(run.lock).last_words)  # type: ignore[union-attr]
    status = inspect(run.path)
    assert (status.state, status.failure) == ("failed", "no space left: free some")


def test_discovery_passes_over_garbage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [create(tmp_path, name) for name in ("a", "b", "a")]
    (tmp_path / "file").write_text("x")
    (tmp_path / "a" / "file").write_text("x")
    (tmp_path / "a" / "empty").mkdir()
    for number, text in enumerate(["", "{", "[]", '{"name": 1}', "\xff", '{"record_version": 99}']):
        (tmp_path / "a" / f"bad{number}").mkdir()
        (tmp_path / "a" / f"bad{number}" / "run.json").write_bytes(text.encode("latin-1"))
    (tmp_path / "a" / "folder").mkdir()
    (tmp_path / "a" / "folder" / "run.json").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert {found.directory.path for found in discover(tmp_path)} == {run.path for run in runs}
    created = [found.record.created for found in discover(tmp_path)]
    assert created == sorted(created, reverse=True)
    listdir = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: sorted(listdir(path), reverse=True))
    assert _folders(tmp_path) == [tmp_path / "a", tmp_path / "b"], "in order of their names"
    assert _folders(tmp_path / "none") == _folders(tmp_path / "file") == []
    assert discover(tmp_path / "none") == []


def test_run_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    run = create(tmp_path)
    record = run.read()
    record.record_version = 99
    run.write(record)
    with pytest.raises(
        RunError,
        match=exactly(
            "this run was written by a later version of steer-tui (its record has version 99, this version reads "
            "up to 1) (…/demo/…/run.json): update steer-tui, or use the version that wrote it"
        ),
    ):
        run.read()


def test_run_is_found_by_path_id_name_and_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = tmp_path / "outputs"
    old, new = create(outputs), create(outputs)
    record = old.read()
    record.created -= 10
    old.write(record)
    assert find_runs(str(old.path), outputs) == [old]
    twins = [create(tmp_path / "twins") for _ in range(3)]
    for run in twins:
        record = run.read()
        record.created = 5.0
        run.write(record)
    by_id = sorted(twins, key=lambda run: run.path.name, reverse=True)
    assert find_runs(str(tmp_path / "twins"), outputs) == by_id, "at the same moment: by their ids"
    for text in ("demo", str(outputs / "demo"), str(outputs)):
        assert find_runs(text, outputs) == [new, old]
    assert find_runs(old.path.name, outputs) == [old]
    (new.path / "run.json").write_text("{bad")
    assert find_runs(new.path.name, outputs) == [new], "who reads its record is told what is wrong"
    create(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    assert [run.path.parent for run in find_runs("demo", outputs)] == [Path("demo")], "a folder before a name"
    with pytest.raises(
        RunError,
        match=exactly(
            "there is no such run (nothing (also looked below …/outputs)): name a run's folder or id; `steer-tui`"
            " lists the runs of the outputs folder"
        ),
    ):
        find_runs("nothing", outputs)


def test_outputs_that_are_a_file(tmp_path: Path) -> None:
    (tmp_path / "outputs").write_text("x")
    with pytest.raises(DiskError) as caught:
        create(tmp_path / "outputs")
    assert "outputs" in caught.value.where and caught.value.hint
