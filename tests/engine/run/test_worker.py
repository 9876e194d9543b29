"""Real worker processes on tiny stages."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.runs.client import prepare_run, request_stop, send, start_worker
from engine.config.file import load_config
from engine.errors import DataError, DiskError, RunError
from engine.events import (
    Event,
    Notice,
    StageBegunAgain,
    StageFailed,
    StageFinished,
    StageFinishedBefore,
    StagePaused,
    StageProgress,
    StageResumed,
    StagesChosen,
    StageStarted,
    StageStopped,
    WorkerStarted,
    WorkerStopped,
)
from engine.files import append_jsonl
from engine.lm.kept_texts import KeptTexts
from engine.lm.protocol import Completion
from engine.run import worker as worker_module
from engine.run.directory import RunDirectory, StageRecord, inspect
from engine.run.event_log import EventLog
from engine.run.lock import RunLock, read_lock
from engine.run.stage import StageContext, StageResult
from engine.run.worker import describe_failure
from engine.scale.spread import ReplicaSpread
from tests.exactly import exactly

MakeRun = Callable[..., RunDirectory]
Worker = Callable[[RunDirectory], subprocess.Popen[bytes]]
EventsOf = Callable[[RunDirectory], list[Event]]
WaitUntil = Callable[..., None]

ITEMS = "count/items.jsonl"


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ITEM_SECONDS", "0.02")


def items(run: RunDirectory) -> int:
    path = run.path / ITEMS
    return path.read_bytes().count(b"\n") if path.exists() else 0


def names(events: list[Event]) -> list[str]:
    found = [type(event).__name__ for event in events]
    return [name for name in found if name not in ("StageProgress", "Preparing")]


def test_the_heartbeat_brings_the_log_to_the_disk(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch, wait_until: WaitUntil
) -> None:
    """No event of a stage's middle does: what is lost at a loss of power is a second's."""
    run = make_run("Count")
    lock = RunLock(run.lock)
    record = run.read()
    monkeypatch.setattr(worker_module, "_HEARTBEAT_SECONDS", 0.01)
    synced: list[int] = []
    engine = worker_module.Worker(run, record, lock)
    engine._open_log()
    monkeypatch.setattr(os, "fsync", synced.append)
    append_jsonl(run.path / "items.jsonl", [{"item": 0}])
    engine._emit(Notice(text="in the middle of a stage"))
    assert not synced
    with engine._heartbeat():
        wait_until(lambda: len(synced) == 2, "the stage's file and the log on the disk")
    engine._close_log()
    lock.release()


@pytest.fixture
def at_work(make_run: MakeRun) -> Iterator[tuple[worker_module.Worker, RunDirectory]]:
    """A worker in this process, at work on the stage `Count`, with its run."""
    run = make_run("Count")
    lock = RunLock(run.lock)
    engine = worker_module.Worker(run, run.read(), lock)
    engine._open_log()
    engine._stage = "example_stages:Count"
    yield engine, run
    engine._close_log()
    lock.release()


def test_texts_that_were_kept_are_dropped_when_the_stage_has_them(
    at_work: tuple[worker_module.Worker, RunDirectory],
) -> None:
    engine, _ = at_work
    cleared: list[str] = []
    events = [
        Notice(text="a"),
        StageStarted(total=3),
        StageProgress(done=1, total=3),
        StageFinished(seconds=1.0),
    ]
    for event in events:
        name = type(event).__name__
        engine._kept = SimpleNamespace(clear=lambda name=name: cleared.append(name))  # type: ignore[assignment]
        engine._emit(event)
    assert cleared == ["StageProgress", "StageFinished"]


STAGE = "example_stages:Count"


def test_a_stale_stage_has_a_new_record_and_another_goes_on_with_its_own(
    at_work: tuple[worker_module.Worker, RunDirectory], events_of: EventsOf
) -> None:
    engine, run = at_work
    engine._record.begun_again = 3
    for status, seconds, begun in (("stopped", 7.5, False), ("stale", 0.0, True)):
        engine._record.stages[STAGE] = StageRecord(status=status, seconds=7.5, summary={"a": 1})
        engine._begin_stage(STAGE)
        stage = run.read().stages[STAGE]
        assert (stage.status, stage.seconds, bool(stage.summary)) == ("running", seconds, not begun)
        told = [event.kept for event in events_of(run) if isinstance(event, StageBegunAgain)]
        assert told == (["earlier/3"] if begun else [])


def test_what_is_chosen_over_the_socket_is_kept_and_told_unless_it_is_at_work(
    at_work: tuple[worker_module.Worker, RunDirectory], events_of: EventsOf
) -> None:
    engine, run = at_work
    assert engine._choose("skip", STAGE, False) == (STAGE,)
    assert run.read().stages[STAGE].skipped and isinstance(events_of(run)[-1], StagesChosen)
    assert engine._choose("skip", STAGE, True) == (STAGE,)
    engine._begin_stage(STAGE)
    at_it = f"`{STAGE}` is at work (…): make `{STAGE}` the last one, or stop the run"
    with pytest.raises(RunError, match=exactly(at_it)):
        engine._choose("skip", STAGE, False)
    engine._stage_record(STAGE).status = "pending"
    assert engine._next({}) is None
    with pytest.raises(RunError, match=exactly(f"the run is at its end ({run.path}): try again in a moment")):
        engine._choose("skip", STAGE, False)
    assert not run.read().stages[STAGE].skipped


@pytest.mark.parametrize("fails", [False, True])
def test_the_log_is_whole_and_closed_at_the_end(
    at_work: tuple[worker_module.Worker, RunDirectory],
    monkeypatch: pytest.MonkeyPatch,
    events_of: EventsOf,
    fails: bool,
) -> None:
    engine, run = at_work

    def attempt() -> int:
        if fails:
            raise DataError(what="no such column", where="a:3", hint="name it")
        return 7

    closed: list[EventLog] = []
    monkeypatch.setattr(engine, "_attempt", attempt)
    monkeypatch.setattr(EventLog, "close", lambda log: closed.append(log))
    assert engine.run() == (2 if fails else 7)
    assert closed == [engine._log]
    monkeypatch.undo()
    assert [type(event).__name__ for event in events_of(run)][1:] == (
        ["StageFailed", "WorkerStopped"] if fails else []
    )


def test_a_stage_can_have_models_unloaded_also_those_of_replicas(
    at_work: tuple[worker_module.Worker, RunDirectory],
) -> None:
    engine, run = at_work
    unloaded: list[str] = []

    class Replicas(ReplicaSpread):
        def __init__(self) -> None:
            pass

        def close(self) -> None:
            unloaded.append("replicas")

    class Unloads:
        def run(self, context: StageContext) -> StageResult:
            context.unload_models()
            return StageResult(summary={"a": 1}, files=["x"])

    models: Any = SimpleNamespace(unload=lambda: unloaded.append("models"))
    one: Any = object()
    for spread, told in ((one, ["models"]), (Replicas(), ["models", "replicas"])):
        unloaded.clear()
        engine._run_stage(STAGE, Unloads(), load_config(run.config), models, spread)
        assert unloaded == told
    stage = run.read().stages[STAGE]
    assert (stage.status, stage.summary, stage.files) == ("finished", {"a": 1}, ["x"])


def test_commands_are_taken_as_long_as_it_works(
    at_work: tuple[worker_module.Worker, RunDirectory], monkeypatch: pytest.MonkeyPatch, events_of: EventsOf
) -> None:
    engine, run = at_work
    with pytest.raises(KeyError), engine._control():
        assert run.control.is_socket()
        raise KeyError
    assert not run.control.exists()

    def refuse(*given: object) -> None:
        raise OSError("no room for a socket")

    monkeypatch.setattr(worker_module, "ControlServer", refuse)
    with engine._control():
        told = events_of(run)[-1]
    assert isinstance(told, Notice) and (told.level, told.text) == (
        "warning",
        "no control socket (no room for a socket): this run can be stopped by signal, not paused",
    )


def test_a_record_is_not_written_apart_from_its_log(
    at_work: tuple[worker_module.Worker, RunDirectory],
) -> None:
    engine, run = at_work
    run.path.rename(run.path.with_name("elsewhere"))
    with pytest.raises(DiskError, match="the run's folder was moved or deleted"):
        engine._write_record()
    assert not run.path.exists()


@pytest.mark.parametrize(
    ("error", "line", "traceback", "code"),
    [
        (
            DataError(what="no such column", where="a:3", hint="name it"),
            "no such column (a:3): name it",
            False,
            2,
        ),
        (ZeroDivisionError("by nought"), "ZeroDivisionError: by nought", True, 1),
    ],
)
def test_a_failure_is_told_in_the_log_the_record_and_the_workers_own_log(
    at_work: tuple[worker_module.Worker, RunDirectory],
    events_of: EventsOf,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    line: str,
    traceback: bool,
    code: int,
) -> None:
    """Its traceback only where the program did not foresee it."""
    engine, run = at_work
    assert engine._fail(error) == code
    (told,) = caplog.records
    assert told.message.startswith(line) and told.levelname == "ERROR"
    assert (told.exc_info is not None and told.exc_info[1] is error) is traceback
    record = run.read()
    assert (record.status, record.failure) == ("failed", told.message)
    assert record.stages["example_stages:Count"].status == "failed"
    *_, failed, stopped = events_of(run)
    assert isinstance(failed, StageFailed) and failed.stage == "example_stages:Count"
    assert isinstance(stopped, WorkerStopped)
    assert (stopped.status, stopped.kept, stopped.stage) == ("failed", str(run.path), "")
    left = read_lock(run.lock)
    assert left is not None and left.last_words == "", "there was room for it elsewhere"


def test_run_from_beginning_to_end(make_run: MakeRun, worker: Worker, events_of: EventsOf) -> None:
    run = make_run("Count", "CountAgain", items=3)
    assert worker(run).wait(60) == 0
    events = events_of(run)
    stage = ["StageStarted", "StageFinished"]
    assert names(events) == ["Header", "WorkerStarted", *stage, *stage, "WorkerStopped"]
    assert [event.seq for event in events] == list(range(len(events)))
    told = [type(event).__name__ for event in events]
    assert told[2] == "Preparing" and told.count("Preparing") == 3  # the libraries, then each stage's own
    status = inspect(run.path)
    assert status.state == "finished" and not status.alive
    assert status.record.stages["example_stages:Count"].files == [ITEMS]
    assert not os.path.lexists(run.control)


def test_texts_of_the_last_attempt_are_told_of_and_dropped_when_results_are_stored(
    make_run: MakeRun, worker: Worker, events_of: EventsOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run("Count", items=3)
    kept = KeptTexts(run.path / "kept_texts.jsonl")
    kept.add("digest", Completion([1, 2], [-0.5, -0.25], "so", "eos"))
    monkeypatch.setattr("engine.lm.kept_texts.FIRST", 0.0)
    kept.leave(
        [("other", Completion([1], [-0.5], "s", "")), ("third", Completion([1, 2], [-0.5, -1.0], "so", ""))]
    )
    kept.write()
    assert worker(run).wait(60) == 0
    told = [event.text for event in events_of(run) if isinstance(event, Notice)]
    assert told == [
        "texts of the last attempt: 1 finished, 2 begun (3 tokens); only what is missing is written"
    ]
    assert not (run.path / "kept_texts.jsonl").exists()


def test_second_attempt_skips_what_is_finished(
    make_run: MakeRun, worker: Worker, events_of: EventsOf
) -> None:
    run = make_run("Count")
    assert worker(run).wait(60) == 0
    before = (run.path / ITEMS).stat().st_mtime_ns
    assert worker(run).wait(60) == 0
    events = events_of(run)
    assert names(events)[-3:] == ["WorkerStarted", "StageFinishedBefore", "WorkerStopped"]
    assert [event.attempt for event in events if isinstance(event, WorkerStarted)] == [1, 2]
    assert (run.path / ITEMS).stat().st_mtime_ns == before
    assert any(isinstance(event, StageFinishedBefore) for event in events)


def test_the_time_of_a_stage_is_that_of_all_attempts(
    make_run: MakeRun, worker: Worker, events_of: EventsOf
) -> None:
    run = make_run("Count", items=3)
    record = run.read()
    stage = record.stages["example_stages:Count"]
    stage.status, stage.seconds = "stopped", 100.0
    run.write(record)
    assert worker(run).wait(60) == 0
    seconds = run.read().stages["example_stages:Count"].seconds
    assert 100.0 < seconds < 160.0
    assert [event.seconds for event in events_of(run) if isinstance(event, StageFinished)] == [seconds]


def test_killed_run_ends_as_if_it_had_not_been(
    make_run: MakeRun,
    worker: Worker,
    wait_until: WaitUntil,
    monkeypatch: pytest.MonkeyPatch,
    events_of: EventsOf,
) -> None:
    plain = make_run("Count", items=40)
    assert worker(plain).wait(60) == 0
    monkeypatch.setenv("ITEM_SECONDS", "0.02")
    run = make_run("Count", items=40)
    for target in (5, 20):
        process = worker(run)
        wait_until(lambda target=target: items(run) >= target, "items")
        process.kill()
        process.wait(10)
        assert inspect(run.path).state == "interrupted"
        with run.events.open("ab") as log:
            log.write(b'{"type":"StageProg')  # the write it was killed in
    assert worker(run).wait(60) == 0
    assert (run.path / ITEMS).read_bytes() == (plain.path / ITEMS).read_bytes()
    started = [event for event in events_of(run) if isinstance(event, StageStarted)]
    assert len(started) == 3 and started[0].done == 0 < 5 <= started[1].done < started[2].done
    assert [event.seq for event in events_of(run)] == list(range(len(events_of(run))))


def test_pause_resume_and_stop_over_the_socket(
    make_run: MakeRun, worker: Worker, wait_until: WaitUntil, slow: None, events_of: EventsOf
) -> None:
    run = make_run("Count", items=400)
    process = worker(run)
    wait_until(lambda: items(run) > 2, "items")
    assert send(run, "pause").ok
    wait_until(lambda: send(run, "status").status["state"] == "paused", "the pause")
    assert inspect(run.path).state == "paused"
    held = items(run)
    status = send(run, "status").status
    assert status["stage"] == "example_stages:Count" and status["done"] == held and status["total"] == 400
    assert items(run) == held
    assert send(run, "continue").ok
    wait_until(lambda: items(run) > held, "more items")
    assert send(run, "stop").ok
    assert process.wait(30) == 130
    events = events_of(run)
    kinds = [type(event) for event in events]
    assert kinds.index(StagePaused) < kinds.index(StageResumed) < kinds.index(StageStopped)
    assert isinstance(events[-1], WorkerStopped) and events[-1].status == "stopped"
    assert next(event for event in events if isinstance(event, StageStopped)).done == items(run)
    assert inspect(run.path).state == "stopped"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_ask_for_a_stop(
    make_run: MakeRun, worker: Worker, wait_until: WaitUntil, slow: None, number: signal.Signals
) -> None:
    run = make_run("Count", items=400)
    process = worker(run)
    wait_until(lambda: items(run) > 2, "items")
    process.send_signal(signal.SIGHUP)
    held = items(run)
    wait_until(lambda: items(run) > held, "items after the terminal closed")
    process.send_signal(number)
    assert process.wait(30) == 130
    assert inspect(run.path).state == "stopped"


def test_second_signal_leaves_at_once(make_run: MakeRun, worker: Worker, wait_until: WaitUntil) -> None:
    run = make_run("Deaf")
    process = worker(run)
    wait_until(lambda: run.control.exists() and send(run, "status").status.get("total"), "the stage")
    process.terminate()
    wait_until(lambda: send(run, "status").status["state"] == "stopping", "the request")
    process.terminate()
    assert process.wait(10) == 130
    assert inspect(run.path).state == "interrupted"


def test_stop_without_socket_goes_by_signal(
    make_run: MakeRun, worker: Worker, wait_until: WaitUntil, slow: None
) -> None:
    run = make_run("Count", items=400)
    process = worker(run)
    wait_until(lambda: items(run) > 2, "items")
    run.control.unlink()
    assert request_stop(run)
    assert process.wait(30) == 130
    assert not request_stop(run)


def test_second_worker_is_refused(
    make_run: MakeRun, worker: Worker, wait_until: WaitUntil, slow: None
) -> None:
    run = make_run("Count", items=400)
    first = worker(run)
    wait_until(lambda: items(run) > 2, "items")
    log = run.events.read_bytes()
    assert worker(run).wait(60) == 2
    assert f"worker {first.pid}" in run.worker_log.read_text()
    assert run.events.read_bytes().startswith(log) and inspect(run.path).pid == first.pid
    with pytest.raises(
        RunError,
        match=exactly(
            f"worker {first.pid} on … is at work on this run (…): watch it with `steer-tui RUN`, or stop it first"
        ),
    ):
        RunLock(run.lock)


def test_unforeseen_failure_has_its_traceback(make_run: MakeRun, worker: Worker, events_of: EventsOf) -> None:
    run = make_run("Count", "Bug", "CountAgain")
    assert worker(run).wait(60) == 1
    failed = next(event for event in events_of(run) if isinstance(event, StageFailed))
    assert failed.stage == "example_stages:Bug" and "a bug" in failed.what and "Traceback" in failed.traceback
    assert "example_stages.py" in failed.where and "Traceback" in run.worker_log.read_text()
    record = inspect(run.path).record
    states = {name.partition(":")[2]: stage.status for name, stage in record.stages.items()}
    assert states == {"Count": "finished", "Bug": "failed", "CountAgain": "pending"}
    assert record.status == "failed" and "a bug" in record.failure


def test_failure_a_user_can_hint(make_run: MakeRun, worker: Worker, events_of: EventsOf) -> None:
    run = make_run("BadData")
    assert worker(run).wait(60) == 2
    failed = next(event for event in events_of(run) if isinstance(event, StageFailed))
    assert (failed.what, failed.where, failed.hint) == (
        "no such column",
        "data.jsonl:3",
        "name it `question`",
    )
    assert not failed.traceback and "Traceback" not in run.worker_log.read_text()


def test_figure_that_is_not_a_number_fails_the_stage_not_the_log(
    make_run: MakeRun, worker: Worker, events_of: EventsOf
) -> None:
    run = make_run("NotANumber")
    assert worker(run).wait(60) == 1
    assert isinstance(events_of(run)[-1], WorkerStopped)


@pytest.mark.parametrize("stage", ["nowhere:Class", "example_stages:Nothing"])
def test_stage_that_leads_nowhere(make_run: MakeRun, worker: Worker, events_of: EventsOf, stage: str) -> None:
    run = make_run("Count")
    text = run.config.read_text().replace("example_stages:Count", stage)
    run.config.write_text(text)
    assert worker(run).wait(60) == 2
    assert any(isinstance(event, StageFailed) and stage in event.what for event in events_of(run))


def test_configuration_broken_after_it_was_prepared(
    make_run: MakeRun, worker: Worker, events_of: EventsOf
) -> None:
    run = make_run("Count")
    run.config.write_text("run: [")
    assert worker(run).wait(60) == 2
    assert "config.yaml:1" in next(e for e in events_of(run) if isinstance(e, StageFailed)).what


def test_folder_that_is_no_run(tmp_path: Path, example_stages: None) -> None:
    command = [sys.executable, "-m", "engine", "run", str(tmp_path)]
    asked = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert asked.returncode == 2 and "not a run" in asked.stderr and "Traceback" not in asked.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB, where one may be mounted."""
    path = tmp_path / "small"
    path.mkdir()
    if shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("mounting needs root")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(path)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no tmpfs can be mounted here")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=False)


def test_full_disk_is_said_and_costs_nothing_finished(
    small_disk: Path, make_config: Callable[..., Path], worker: Worker, events_of: EventsOf
) -> None:
    config = make_config("Count", "Chatty")
    run = prepare_run(config, outputs=str(small_disk))
    assert worker(run).wait(60) == 1
    status = inspect(run.path)
    assert status.state == "failed" and "No space left" in status.failure
    assert run.events.read_bytes().endswith(b"\n")
    assert [e.stage for e in events_of(run) if isinstance(e, StageFinished)] == ["example_stages:Count"]
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    process = worker(run)
    process.wait(60)
    assert any(isinstance(event, StageFinishedBefore) for event in events_of(run))


def test_log_over_the_size_limit_is_a_full_disk(make_run: MakeRun, events_of: EventsOf) -> None:
    run = make_run("Count", "Chatty")
    limit = f"ulimit -f 64; exec {sys.executable} -m engine run {run.path}"
    asked = subprocess.run(["bash", "-c", limit], capture_output=True, text=True, timeout=120, check=False)
    assert asked.returncode == 1 and "cannot write" in asked.stderr
    status = inspect(run.path)
    assert status.state == "failed" and "free some space" in status.failure
    assert run.events.read_bytes().endswith(b"\n") and len(events_of(run)) > 10


def test_worker_outlives_who_started_it(make_run: MakeRun, wait_until: WaitUntil, slow: None) -> None:
    run = make_run("Count", items=60)
    imports = "from pathlib import Path; from app.runs.client import *"
    script = f"{imports}; start_worker(RunDirectory(Path({str(run.path)!r})))"
    subprocess.run([sys.executable, "-c", script], timeout=120, check=True)
    try:
        wait_until(lambda: inspect(run.path).state == "finished", "the end")
    finally:
        status = inspect(run.path)
        if status.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(status.pid, signal.SIGKILL)
    assert items(run) == 60


def test_a_folder_that_is_moved_at_work_is_not_split_in_two(
    make_run: MakeRun, worker: Worker, wait_until: WaitUntil, slow: None
) -> None:
    """The worker stops, the folder says why, and a resume there ends as if nothing had happened."""
    run = make_run("Count", items=60)
    process = worker(run)
    wait_until(lambda: items(run) > 3, "some items")
    moved = RunDirectory(run.path.with_name("elsewhere"))
    run.path.rename(moved.path)
    assert process.wait(60) == 1
    assert not run.record.exists() and not run.events.exists()
    status = inspect(moved.path)
    assert status.state == "failed" and "moved or deleted while the engine worked in it" in status.failure
    done = items(moved)
    assert 3 < done < 60
    again = worker(moved)
    assert again.wait(60) == 0
    assert inspect(moved.path).state == "finished" and items(moved) == 60


def test_a_folder_that_is_deleted_at_work_is_not_made_anew(
    make_run: MakeRun, worker: Worker, wait_until: WaitUntil, slow: None
) -> None:
    run = make_run("Count", "CountAgain", items=60)
    process = worker(run)
    wait_until(lambda: items(run) > 3, "some items")
    shutil.rmtree(run.path.rename(run.path.with_name("bin")))  # at once: nothing can be made in it meanwhile
    assert process.wait(60) == 1
    assert not run.record.exists() and not run.events.exists()
    with pytest.raises(
        RunError,
        match=exactly(
            "this is not a run: No such file or directory (…/outputs/test/…/run.json): name a "
            "run's folder, `<outputs>/<name>/<run id>`"
        ),
    ):
        inspect(run.path)


@pytest.mark.parametrize(
    ("error", "what", "hint"),
    [
        (OSError(errno.EMFILE, "Too many open files"), "too many files are open", "ulimit -n"),
        (MemoryError(), "not enough memory", "free some"),
        (
            ImportError("libx.so: failed to map segment from shared object"),
            "not enough memory: libx.so",
            "free some",
        ),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "not enough memory: ", "free some"),
    ],
)
def test_what_the_machine_has_too_little_of_is_said(error: Exception, what: str, hint: str) -> None:
    event, code = describe_failure(error)
    assert code == 1 and event.what.startswith(what) and hint in event.hint and "resume" in event.hint
    assert not event.traceback


def test_few_open_files_are_no_riddle(make_run: MakeRun) -> None:
    run = make_run("Count")
    limit = f"ulimit -n 7; exec {sys.executable} -m engine run {run.path}"
    asked = subprocess.run(["bash", "-c", limit], capture_output=True, text=True, timeout=120, check=False)
    assert asked.returncode == 1
    assert inspect(run.path).failure.startswith("too many files are open: raise the limit")


@pytest.mark.ray
def test_models_are_unloaded_in_replicas_too(make_config: Callable[..., Path]) -> None:
    """Their processes end; what is next prepared has others. What they print is in worker.log."""
    config = make_config("InReplicas")
    config.write_text(config.read_text() + "scale: {replicas: 2}\n")
    run = prepare_run(config)
    assert start_worker(run).wait(60) == 0, run.worker_log.read_text()
    assert run.read().stages["example_stages:InReplicas"].summary == {"left": 0, "both": 0, "own": 0}
    assert run.worker_log.read_text().count("opened") == 4
