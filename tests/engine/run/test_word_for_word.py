"""What the engine says of a run, word for word and figure for figure: events, errors, states, times."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.config.config import Config
from engine.config.run import RunSection
from engine.errors import DataError, DiskError, RunError
from engine.events import (
    Header,
    Notice,
    StageFailed,
    StageFinished,
    StagePaused,
    StageProgress,
    StageStopped,
    WorkerStarted,
    WorkerStopped,
    decode,
)
from engine.lm.loading.load import load_model
from engine.run import control
from engine.run import gate as gate_module
from engine.run import worker as worker_module
from engine.run.control import ControlServer
from engine.run.directory import RunDirectory, RunStatus, StageRecord, discover, find_runs, inspect
from engine.run.event_log import EventLog, LogReader, header_of, read_event
from engine.run.find_event import find_event
from engine.run.gate import Gate
from engine.run.lock import RunLock, read_lock
from engine.run.stage import StageContext
from engine.run.stage_choices import choose
from engine.run.stage_files import StageFiles, read_stage_files, write_stage_files
from engine.run.stage_state import StageState
from engine.run.worker import describe_failure, one_line, run_worker
from engine.versions import versions
from tests.conftest import STAGES
from tests.exactly import exactly
from tests.made_run import create_run

MakeRun = Callable[..., RunDirectory]
COUNT = "example_stages:Count"


@pytest.fixture
def here(make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> MakeRun:
    """Runs whose stages this process can import."""
    monkeypatch.syspath_prepend(str(STAGES))
    return make_run


def block_lines(run: RunDirectory) -> list[dict[str, object]]:
    """The log without times, and without the header."""
    lines = [json.loads(line) for line in run.events.read_text().splitlines()][1:]
    passing = ("seq", "time", "pid", "elapsed", "seconds")
    return [{name: value for name, value in line.items() if name not in passing} for line in lines]


def test_a_run_tells_all_that_it_does_and_its_record_holds_it(here: MakeRun) -> None:
    run = here("Count", items=2)
    assert run_worker(run.path) == 0
    start = {"type": "Preparing", "doing": "loading the libraries that the stages need"}
    assert block_lines(run) == [
        {"type": "WorkerStarted", "attempt": 1, "stages": [COUNT]},
        start,
        {"type": "Preparing", "stage": COUNT, "doing": f"loading data and models for {COUNT}"},
        {"type": "StageStarted", "stage": COUNT, "total": 2},
        {"type": "StageProgress", "stage": COUNT, "done": 1, "total": 2, "tokens": 10},
        {"type": "StageProgress", "stage": COUNT, "done": 2, "total": 2, "tokens": 20},
        {"type": "StageFinished", "stage": COUNT, "summary": {"items": 2}, "files": ["count/items.jsonl"]},
        {"type": "WorkerStopped", "status": "finished", "kept": str(run.path)},
    ]
    record = run.read()
    assert (record.status, record.attempts, record.failure) == ("finished", 1, "")
    stage = record.stages[COUNT]
    assert (stage.status, stage.summary, stage.files) == ("finished", {"items": 2}, ["count/items.jsonl"])
    assert 0 < stage.seconds < 60 and stage.seconds == round(stage.seconds, 3)
    assert read_lock(run.lock) is None and run.worker_log == run.path / "worker.log"
    assert read_stage_files(run.path, COUNT) is None, "kept in a sweep alone"


def test_a_later_attempt_tells_of_other_versions_and_of_no_socket(
    here: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = here("Count", "BadData", items=1)
    record = run.read()
    record.versions = {**versions(), "python": "3.0", "torch": "1.0", "gone": "2"}
    run.write(record)
    assert run_worker(run.path) == 2
    assert not [line for line in block_lines(run) if line["type"] == "Notice"]
    failed = {"what": "no such column", "where": "data.jsonl:3", "mend": "name it `question`"}
    assert block_lines(run)[-2:] == [
        {"type": "StageFailed", "stage": "example_stages:BadData", **failed},
        {"type": "WorkerStopped", "status": "failed", "kept": str(run.path)},
    ]
    record = run.read()
    assert record.failure == "no such column (data.jsonl:3): name it `question`"
    assert [stage.status for stage in record.stages.values()] == ["finished", "failed"]

    def no_sockets(*_: object) -> None:
        raise OSError(errno.EPERM, "no sockets here")

    monkeypatch.setattr(worker_module, "ControlServer", no_sockets)
    choose(run, "skip", "example_stages:BadData")
    assert run_worker(run.path) == 0
    now = versions()
    assert [(line["text"], line["level"]) for line in block_lines(run) if line["type"] == "Notice"] == [
        (f"the run was started with other versions (python 3.0, now {now['python']}, torch 1.0, now "
         f"{now['torch']}): results may differ", "warning"),
        ("no control socket ([Errno 1] no sockets here): this run can be stopped by signal, not paused", "warning"),
    ]  # fmt: skip
    skipped = [line for line in block_lines(run) if line["type"] == "StagesChosen"]
    assert skipped == [{"type": "StagesChosen", "skipped": ["example_stages:BadData"]}] * 2
    assert run.read().failure == "", "the last attempt did not fail"
    monkeypatch.chdir(run.path.parent)
    assert run_worker(Path(run.path.name)) == 0, "nothing is left"
    assert "Preparing" not in [line["type"] for line in block_lines(run)[-4:]]
    assert block_lines(run)[-1]["kept"] == str(run.path), "the whole path, wherever it was started"


def test_a_worker_at_work_says_how_far_it_is_and_at_its_end_takes_no_choice(here: MakeRun) -> None:
    run = here("Count")
    lock = RunLock(run.lock)
    engine = worker_module.Worker(run, run.read(), lock)
    engine._open_log()
    assert engine._status() == {"pid": os.getpid(), "state": "running", "stage": "", "attempt": 0}
    engine._stage = COUNT
    context = StageContext(COUNT, Config(), run.path, engine._emit, lambda: None, load_model)
    assert "done" not in engine._status()
    context.start(9, 4, "pairs")
    context.progress(5, 9)
    assert engine._status() == {
        "pid": os.getpid(), "state": "running", "stage": COUNT, "done": 5, "total": 9, "unit": "pairs", "attempt": 0,
    }  # fmt: skip
    engine._note_status("paused")
    assert inspect(run.path).state == "paused"
    assert engine._choose("skip", COUNT, False) == (COUNT,)
    assert run.read().stages[COUNT].skipped
    engine._over = True
    with pytest.raises(RunError, match=exactly(f"the run is at its end ({run.path}): try again in a moment")):
        engine._choose("skip", COUNT, True)
    engine._close_log()
    lock.release()


def test_what_can_be_said_nowhere_else_is_in_the_lock(here: MakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    run = here("Count")

    def full(self: RunDirectory, record: object) -> None:
        raise DiskError(what="no space left", where="run.json", hint="free some")

    monkeypatch.setattr(RunDirectory, "write", full)
    assert run_worker(run.path) == 1
    lock = read_lock(run.lock)
    assert lock is not None and lock.last_words == "no space left (run.json): free some"
    assert [line["type"] for line in block_lines(run)] == ["StageFailed", "WorkerStopped"]


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (OSError(errno.EMFILE, "Too many"), 1,
         "too many files are open: raise the limit (`ulimit -n 1024`) and resume: what was finished is kept"),
        (OSError(errno.ENFILE, "Too many"), 1,
         "too many files are open: raise the limit (`ulimit -n 1024`) and resume: what was finished is kept"),
        (MemoryError(), 1, "not enough memory: free some, raise its limit and resume: what was finished is kept"),
        (RuntimeError("x: can't allocate memory"), 1,
         "not enough memory: x: can't allocate memory: free some, raise its limit and resume: what was finished is "
         "kept"),
        (ValueError("cannot allocate memory"), 1,
         "ValueError: cannot allocate memory: the program did not foresee this: worker.log has the traceback; what was "
         "finished is kept"),
        (DiskError(what="full", where="x", hint="free some"), 1, "full (x): free some"),
        (DataError(what="bad\n line", where="x:1", hint=""), 2, "bad line (x:1)"),
    ],
)  # fmt: skip
def test_a_failure_in_one_line_and_as_an_exit_code(error: Exception, code: int, line: str) -> None:
    event, given = describe_failure(error)
    assert (one_line(event), given) == (line, code)


def test_an_unforeseen_failure_names_its_innermost_line() -> None:
    with pytest.raises(ValueError) as caught:
        json.loads("{")
    event, _ = describe_failure(caught.value)
    file, _, line = event.where.rpartition(":")
    assert file.endswith("json/decoder.py") and int(line) > 100
    assert (
        event.traceback.startswith("Traceback (most recent call last):\n") and event.what in event.traceback
    )
    assert one_line(StageFailed(what="a", where="b", hint="c")) == "a (b): c"


def test_no_time_passes_in_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pauses of 1 s and 0.5 s; the gate says what it is at."""

    class Watch:
        now = 100.0

        def monotonic(self) -> float:
            return self.now

        def sleep(self, seconds: float) -> None:
            assert (seconds, gate.state) == (0.05, "paused")
            self.now += 0.5
            if self.now in (101.0, 201.5):
                gate.unpause()

    told: list[object] = []
    watch = Watch()
    monkeypatch.setattr(gate_module, "time", watch)
    gate = Gate(told.append, told.append)
    assert (gate.clock(), gate.state) == (100.0, "running")
    gate.pause()
    assert gate.state == "pausing"
    gate.checkpoint()
    assert (gate.clock(), gate.state) == (100.0, "running")
    watch.now = 201.0
    gate.pause()
    gate.checkpoint()
    assert gate.clock() == 201.5 - 1.5
    kinds = [one if isinstance(one, str) else type(one).__name__ for one in told]
    assert kinds == ["paused", "StagePaused", "running", "StageResumed"] * 2
    gate.stop_after()
    assert gate.state == "stopping after this" and not gate.stopping
    gate.pause()
    assert gate.state == "pausing"
    gate.stop()
    assert gate.state == "stopping" and gate.stopping


def test_a_stage_reports_in_its_own_time(tmp_path: Path) -> None:
    events: list[object] = []
    times = iter([10.0, 12.34567, 20.0])
    context = StageContext(
        "mine", Config(run=RunSection(seed=7)), tmp_path, events.append, lambda: None, load_model,
        clock=lambda: next(times),
    )  # fmt: skip
    context.start(5)
    context.progress(1, 5, 3, "greedy")
    context.progress(2, 5)
    assert events[1:] == [
        StageProgress(done=1, total=5, tokens=3, elapsed=2.346, note="greedy"),
        StageProgress(done=2, total=5, tokens=3, elapsed=10.0),
    ]
    context.notice("slow")
    context.notice("full", "warning")
    assert events[3:] == [Notice(text="slow"), Notice(text="full", level="warning")]


def test_pace_and_share_at_their_edges() -> None:
    state = StageState("mine", "running", done=3, total=4, begun_at=1, tokens=9, elapsed=4.0)
    assert (state.fraction, state.items_per_second, state.tokens_per_second, state.eta) == (
        0.75,
        0.5,
        2.25,
        2.0,
    )
    assert (replace(state, status="paused").eta, replace(state, status="stopped").eta) == (2.0, None)
    assert (
        replace(state, elapsed=0.0).items_per_second is replace(state, elapsed=0.0).tokens_per_second is None
    )
    assert replace(state, tokens=0).tokens_per_second is None
    assert replace(state, done=1).items_per_second is replace(state, done=4).eta is None
    assert (replace(state, status="skipped").fraction, replace(state, total=0).fraction) == (1.0, 0.0)


def test_a_log_is_synced_where_a_stage_ends_and_tells_its_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    path = tmp_path / "a" / "events.jsonl"
    log = EventLog(path, Header(schema_version=1, name="n", run_id="r", seed=0, stages=[]), lambda: 5.0)
    assert (len(synced), log.events) == (1, 1)
    stamped = log.emit(Notice(text="x"), "mine")
    assert stamped == Notice(text="x", seq=1, time=5.0, stage="mine") and len(synced) == 1
    assert log.emit(Notice(text="x", stage="own"), "mine").stage == "own"
    ends = (
        StageFinished(seconds=1.0), StageFailed(what="x"), StageStopped(done=1),
        WorkerStarted(pid=1, attempt=1, stages=[]), WorkerStopped(status="stopped", kept="k"),
    )  # fmt: skip
    for count, event in enumerate(ends, 2):
        log.emit(event)
        assert (len(synced), log.events) == (count, count + 2)
    log.sync()
    assert len(synced) == 6, "nothing new"
    reader = LogReader(path)
    assert reader.behind() == path.stat().st_size
    first, *_ = reader.poll(2)
    assert (reader.offset + reader.behind(), reader.line) == (path.stat().st_size, 2)
    assert (first.offset, first.length) == (0, path.read_bytes().index(b"\n"))
    assert read_event(path, first.offset, first.length) == first.event
    log.close()
    assert LogReader(tmp_path / "none").behind() == 0


def test_a_broken_line_is_named_by_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "events.jsonl"
    line = '{"type":"Notice","seq":%d,"time":1.0,"text":"t"}\n'
    path.write_text(line % 0 + line % 1 + "?\n" + line % 2)
    broken = "this line is not an event ({}): restore the log from a copy, or take the line out; the run's other " \
             "files are not affected"  # fmt: skip
    reader = LogReader(path)
    assert [entry.event.seq for entry in reader.poll()] == [0, 1, 2] and reader.line == 4
    assert reader.damage == f"damaged lines of the log, passed over: 1; the first is {path}:3"
    with pytest.raises(DataError, match=exactly(broken.format(f"{path}, byte 9"))):
        read_event(path, 9, 5)
    path.write_text("?\n")
    with pytest.raises(DataError, match=exactly(broken.format(f"{path}, byte 0"))):
        EventLog(path, Header(schema_version=1, name="n", run_id="r", seed=0, stages=[]))
    with pytest.raises(
        RunError,
        match=exactly(
            f"the log is shorter (2 bytes) than what was already read of it ({reader.offset}) ({path}): open the run "
            "again; if this repeats, something else writes into its folder"
        ),
    ):
        reader.poll()
    monkeypatch.setattr("engine.run.event_log.LONGEST_LINE", 8)
    path.write_text(line % 0 + "x" * 20)
    reader = LogReader(path)
    assert [entry.event.seq for entry in reader.poll(1)] == [0] and reader.poll() == []
    assert reader.damage == f"damaged lines of the log, passed over: 1; the first is {path}:2"
    path.unlink()
    path.mkdir()
    unreadable = f"the log cannot be read: Is a directory ({path}): make it readable"
    with pytest.raises(RunError, match=exactly(unreadable)):
        LogReader(path).poll()


def test_an_event_of_a_type_that_is_not_known_is_found_by_nobody(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"type":"Later","seq":0,"time":1.0}\n{"type":"Notice","seq":1,"time":1.0,"text":"t"}\n')
    assert find_event(path, 0) is None
    entry = find_event(path, 1)
    assert entry is not None and (entry.offset, entry.length) == (36, 47)
    assert decode(path.read_bytes()[36:83]) == entry.event
    with pytest.raises(DataError, match=r"^this line is not an event \(.*, byte 0\)"):
        read_event(path, 0, 35)


def test_who_holds_a_run_and_who_cannot_be_named(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    lock = RunLock(run / "worker.lock")
    held = f"worker {os.getpid()} on {os.uname().nodename} is at work on this run ({run}): watch it with " \
           "`steer-tui RUN`, or stop it first"  # fmt: skip
    with pytest.raises(RunError, match=exactly(held)):
        RunLock(run / "worker.lock")
    (run / "worker.lock").write_text("?")
    unnamed = (
        f"another worker is at work on this run ({run}): watch it with `steer-tui RUN`, or stop it first"
    )
    with pytest.raises(RunError, match=exactly(unnamed)):
        RunLock(run / "worker.lock")
    lock.say("x" * 3000)
    found = read_lock(run / "worker.lock")
    assert found is not None and (found.last_words, found.pid) == ("x" * 2000, os.getpid())
    os.utime(run / "worker.lock", (1.0, 1.0))
    lock.beat()
    assert (run / "worker.lock").stat().st_mtime > 1e9
    lock.release()


def test_runs_are_listed_newest_first_and_a_hung_one_is_told_by_30_seconds(tmp_path: Path) -> None:
    made = [
        create_run(tmp_path, "demo", seed=1, stages=["mine"], config={}, versions={}, config_text="")
        for _ in range(3)
    ]
    for run, created in zip(made, (5.0, 7.0, 6.0), strict=True):
        record = run.read()
        record.created = created
        run.write(record)
        assert run.read().updated > 1e9
    assert [one.directory for one in discover(tmp_path)] == [made[1], made[2], made[0]]
    assert find_runs(str(made[0].path), tmp_path) == [made[0]]
    lock = RunLock(made[0].lock)
    states = []
    for age in (25, 35):
        now = made[0].lock.stat().st_ctime
        os.utime(made[0].lock, (now - age, now - age))
        status = inspect(made[0].path)
        states.append((status.state, status.alive, status.pid, status.host))
        assert status.heartbeat_age == pytest.approx(age, abs=4)
    who = (True, os.getpid(), os.uname().nodename)
    assert states == [("running", *who), ("hung", *who)]
    lock.release()
    assert RunStatus(made[0], made[0].read(), "finished").alive is False
    record = made[0].read()
    record.created = 1e11
    made[0].write(record)
    broken = f"this is not a run's record: its times are none ({made[0].record}): restore the file, or start a new run"
    with pytest.raises(RunError, match=exactly(broken)):
        made[0].read()


@pytest.mark.parametrize(
    ("status", "skipped", "words", "settled"),
    [("pending", None, "pending", False), ("pending", True, "skipped", True), ("stale", True, "stale, skipped", True),
     ("finished", False, "finished", True), ("stale", False, "stale", False)],
)  # fmt: skip
def test_a_stage_in_words(status: str, skipped: bool | None, words: str, settled: bool) -> None:
    stage = StageRecord(status=status, skipped=skipped)
    assert (stage.words, stage.settled, stage.stale) == (words, settled, status == "stale")


def test_the_header_is_the_runs_own(tmp_path: Path) -> None:
    run = create_run(
        tmp_path, "demo", seed=9, stages=["mine", "eval"], config={}, versions={"python": "3"}, config_text=""
    )
    record = run.read()
    assert header_of(record) == Header(
        schema_version=1,
        name="demo",
        run_id=record.run_id,
        seed=9,
        stages=["mine", "eval"],
        versions={"python": "3"},
    )
    (run.path / "stages").mkdir()
    (run.path / "stages" / "mine.json").write_text('{"files": {"a/b": [3, 7]}, "events": 4}')
    assert read_stage_files(run.path, "mine") == StageFiles({"a/b": (3, 7)}, 4)
    assert read_stage_files(run.path, "eval") is None


def test_a_socket_that_finds_no_place_is_told_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "short"))
    (tmp_path / "short").mkdir()
    place = tmp_path / "run"
    place.write_text("no folder")
    with pytest.raises(OSError):
        ControlServer(place / "control.sock", Gate(lambda event: None), dict, lambda *_: [])
    assert not list((tmp_path / "short").iterdir())


def test_a_pause_names_no_stage_of_its_own() -> None:
    events: list[object] = []
    gate = Gate(events.append)
    gate.pause()
    gate._emit = lambda event: (events.append(event), gate.unpause())[0]  # type: ignore[func-returns-value]
    gate.checkpoint()
    assert isinstance(events[0], StagePaused)


def test_an_event_that_is_written_by_half_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(path, Header(schema_version=1, name="n", run_id="r", seed=0, stages=[]))
    before = path.read_bytes()
    real = os.pwrite

    def half(file: int, data: bytes, offset: int) -> int:
        if offset > len(before):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, data[:10], offset)

    monkeypatch.setattr(os, "pwrite", half)
    with pytest.raises(DiskError):
        log.emit(Notice(text="x"))
    assert path.read_bytes() == before and log.events == 1
    monkeypatch.setattr(os, "pwrite", lambda file, data, offset: real(file, data[:10], offset))
    log.emit(Notice(text="x"))
    assert [entry.event.seq for entry in LogReader(path).poll()] == [0, 1]
    log.close()
    monkeypatch.undo()
    lock = RunLock(tmp_path / "worker.lock")
    assert (tmp_path / "worker.lock").stat().st_size == 4096
    lock.release()
    assert (tmp_path / "worker.lock").stat().st_size == 0


def test_a_conversation_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A last line needs no end; one that is as long as lines may be and has none is the last."""
    monkeypatch.setattr(control, "_LONGEST_LINE", 30)

    def replies(said: bytes) -> list[dict[str, object]]:
        talk: Any = object.__new__(control._Conversation)
        talk.rfile, talk.wfile = BytesIO(said), BytesIO()
        talk.server = SimpleNamespace(
            gate=Gate(lambda event: None), status=lambda: {"state": "x"}, choose=None
        )
        talk.handle()
        return [json.loads(line) for line in talk.wfile.getvalue().splitlines()]

    fine, asked = {"ok": True, "status": {"state": "x"}}, b'{"command": "status"}'
    assert replies(asked) == [fine] and replies(asked + b"\n" + asked + b"\n") == [fine, fine]
    assert replies(asked.ljust(29) + b"\n" + asked) == [fine, fine]
    long = {"ok": False, "error": "this line is too long"}
    assert replies(asked.ljust(30) + b"\n" + asked) == [long]


def test_what_a_sweep_keeps_of_a_finished_stage(tmp_path: Path) -> None:
    """Files in the folders of stages alone; size and time of each."""
    for name in ("count/a.txt", "count/in/b.txt", "stages/old.json", "events.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("four")
        os.utime(path, ns=(7, 9))
    write_stage_files(tmp_path, "count", 12)
    assert read_stage_files(tmp_path, "count") == StageFiles(
        {"count/a.txt": (4, 9), "count/in/b.txt": (4, 9)}, 12
    )
    assert (tmp_path / "stages" / "count.json").read_bytes().endswith(b"}\n")


def test_a_client_is_the_stage_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[object, ...]] = []
    monkeypatch.setattr(
        "engine.servers.client.OpenAIClient", lambda *of, **more: made.append((*of, more)) or "client"
    )
    section: Any = "section"
    looks: Any = "looks"
    context = StageContext("slsm", Config(), tmp_path, print, looks, load_model)
    assert context.client(section, "judge", "slsm.judge", 9.0) == "client"
    (of,) = made
    assert of == ("section", "slsm.judge", {
        "checkpoint": looks, "notice": context.notice, "requests_per_minute": 9.0, "stage": "slsm", "role": "judge",
        "servers": context.servers, "emit": print,
    })  # fmt: skip
