"""How `steer-tui batch` ends: its lines and exit code, over a worker that is acted and a log made by hand."""

from __future__ import annotations

import io
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from rich.console import Console

from app.batch import run_batch as module
from app.state.run import RunState
from engine.events import Event, Notice, StageFailed, StageFinished, StageStarted, WorkerStopped, encode
from engine.run.directory import RunDirectory
from engine.run.event_log import LogReader
from tests.two_runs import make_run

PID = 4711
FAILED = WorkerStopped(status="failed")


@dataclass
class Worker:
    """Writes one of `written` into the log whenever it is looked at, and has ended with `returncode` after them; None:
    it never ends."""

    log: Path
    returncode: int | None = 0
    written: list[Event] = field(default_factory=list)
    pid: int = PID
    terminated: bool = False

    def poll(self) -> int | None:
        if not self.written:
            return self.returncode
        with self.log.open("ab") as file:
            file.write(
                encode(msgspec.structs.replace(self.written.pop(0), seq=self.log.stat().st_size, time=1.0))
            )
        return None

    def wait(self, timeout: float) -> int:
        if self.returncode is None:
            raise subprocess.TimeoutExpired("worker", timeout)
        return self.returncode

    def terminate(self) -> None:
        self.terminated = True


@dataclass
class Ended:
    """What a batch printed before it ended."""

    code: int
    out: str
    err: str
    worker: Worker


Batch = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory(make_run(tmp_path, "acted", [], status="running"))


@pytest.fixture
def batch(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> Batch:
    """`batch(returncode, event, …, interrupts=1)`: `interrupts` times Ctrl+C is pressed at the beginning."""

    def ended(returncode: int | None, *events: Event, interrupts: int = 0, record_failure: str = "") -> Ended:
        worker = Worker(run.events, returncode, list(events))
        record = run.read()
        record.failure, record.status = record_failure, "failed" if record_failure else record.status
        run.write(record)

        def start(directory: RunDirectory) -> Worker:
            return worker

        def begin(self: module.Interrupts) -> None:
            self.count = interrupts

        monkeypatch.setattr(module, "start_worker", start)
        monkeypatch.setattr(module.Interrupts, "__init__", begin)
        out, err = (Console(file=io.StringIO(), width=60) for _ in range(2))
        code = module.run_batch(run, out, err)
        return Ended(code, *(console.file.getvalue() for console in (out, err)), worker)  # type: ignore[attr-defined]

    return ended


FINISHED = StageFinished(stage="eval", seconds=61.0, summary={"accuracy": 0.5})


def test_a_finished_run(batch: Batch, run: RunDirectory) -> None:
    """Its lines, its results, the folder; nothing is wrong."""
    began = StageStarted(stage="eval", total=3, unit="answers")
    ended = batch(0, began, FINISHED, WorkerStopped(status="finished"))
    lines = ended.out.splitlines()
    assert (ended.code, ended.err) == (0, "")
    assert lines[0] == f"run: {run.path}" and lines[-1] == f"all files: {run.path}"
    assert [line[9:] for line in lines[1:3]] == [
        "eval: started, 0 of 3 answers",
        "eval: finished in 1:01 (accuracy 0.5)",
    ]


@pytest.mark.parametrize(
    ("returncode", "events", "failure", "code", "reason"),
    [
        (1, [StageFailed(stage="eval", what="no room", where="a.json", hint="make some"), FAILED], "", 1,
         "eval: no room (a.json): make some"),
        (2, [StageFailed(what="no such column", hint="name it"), FAILED], "", 2,
         "no such column: name it"),
        (1, [StageFailed(stage="eval", what="a bug"), FAILED], "", 1, "eval: a bug"),
        (2, [], "run: no such stage", 2, "run: no such stage"),
        (-9, [], "", 1,
         "the worker was ended from outside (by signal SIGKILL, as the system does when memory runs out) ({path}): "
         "its log ends with: last words"),
        (3, [], "", 1,
         "the worker ended without an error message (exit code 3) ({path}): its log ends with: last words"),
        (1, [FAILED], "", 1,
         "the worker ended without an error message (exit code 1) ({path}): its log ends with: last words"),
    ],
)  # fmt: skip
def test_why_a_run_ended_and_how_to_resume_it(
    batch: Batch,
    run: RunDirectory,
    returncode: int,
    events: list[Event],
    failure: str,
    code: int,
    reason: str,
) -> None:
    run.worker_log.write_text("first words\nlast words\n \n")
    ended = batch(returncode, *events, record_failure=failure)
    resume = f"kept in {run.path}; to resume: steer-tui batch --resume {run.path}"
    assert (ended.code, ended.err.splitlines()) == (code, [reason.format(path=run.path), resume])


def test_a_worker_that_left_no_word(batch: Batch, run: RunDirectory) -> None:
    assert batch(1).err.splitlines()[0].endswith(f"(exit code 1) ({run.path}): resume the run")
    run.worker_log.write_text(" \n")
    assert batch(1).err.splitlines()[0].endswith(f"(exit code 1) ({run.path}): resume the run")


def test_a_worker_that_reports_its_end_and_lives_on(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it reported counts."""
    assert batch(None, WorkerStopped(status="finished")).code == 0


def test_ctrl_c_asks_the_worker_to_stop(batch: Batch, run: RunDirectory) -> None:
    """One that has not begun is ended; what is kept is said where there is a run to resume."""
    ended = batch(0, WorkerStopped(status="stopped"), interrupts=1)
    assert ended.code == 130 and not ended.worker.terminated
    assert ended.err == f"stopped; kept in {run.path}; to resume: steer-tui batch --resume {run.path}\n"
    ended = batch(0, FINISHED, interrupts=1)  # the end of its log is still to come
    assert ended.code == 130 and ended.worker.terminated
    asking = "asking the engine to stop; what is finished is kept (Ctrl+C again leaves at once)\n"
    assert asking in ended.out and ended.err.startswith("stopped; kept in ")


def test_an_engine_that_does_not_stop_is_left(
    batch: Batch, run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    ended = batch(None, interrupts=1)
    assert ended.code == 130
    assert ended.err == (
        f"no answer from the engine (pid {PID}) yet: it stops after its current item; "
        f"kept in {run.path}; to resume: steer-tui batch --resume {run.path}\n"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_second_signal_interrupts(number: signal.Signals) -> None:
    """The first is counted; afterwards signals do what they did before."""
    before, interrupts = signal.getsignal(number), module.Interrupts()
    with interrupts.handled():
        signal.raise_signal(number)
        assert interrupts.count == 1
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) == before


def test_a_second_ctrl_c_leaves_at_once(
    batch: Batch, run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(self: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(module._Batch, "follow", pressed)
    ended = batch(0)
    kept = f"kept in {run.path}; to resume: steer-tui batch --resume {run.path}\n"
    assert (ended.code, ended.err) == (130, f"left; the engine stops after its current item; {kept}")


def test_whatever_else_happens_leaves_no_worker(
    batch: Batch, run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(self: object) -> int:
        raise BrokenPipeError

    stopped: list[RunDirectory] = []
    monkeypatch.setattr(module._Batch, "follow", closed)
    monkeypatch.setattr(module, "request_stop", stopped.append)
    with pytest.raises(BrokenPipeError):
        batch(0)
    assert stopped == [run]


def test_a_worker_without_a_sign_of_life_is_named(
    batch: Batch, run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once each time that it has been silent for so long."""
    monkeypatch.setattr(module, "HUNG_AFTER", 0.0)
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    status = module.inspect(run.path)
    monkeypatch.setattr(module, "inspect", lambda path: replace(status, state="hung"))
    hangs = f"no sign of life from the worker (pid {PID}) for a while: it seems to hang\n"
    assert hangs in batch(None, interrupts=1).out
    monkeypatch.setattr(module, "inspect", lambda path: status)
    assert hangs not in batch(None, interrupts=1).out
    monkeypatch.setattr(module, "inspect", lambda path: replace(status, state="hung"))
    monkeypatch.setattr(module, "HUNG_AFTER", 60.0)
    assert hangs not in batch(None, interrupts=1).out


def test_a_silence_is_named_again_only_after_as_long_a_silence(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, out = 0.0, Console(file=io.StringIO(), width=200)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    status = module.inspect(run.path)
    monkeypatch.setattr(module, "inspect", lambda path: replace(status, state="hung"))
    batch = module._Batch(
        run, LogReader(run.events), Worker(run.events), module.Display(out), RunState(), out,  # type: ignore[arg-type]
        module.Interrupts(), _last_event_at=0.0,
    )  # fmt: skip
    named = []
    for part in (0.9, 1.0, 1.1, 1.9, 2.0):
        now = part * module.HUNG_AFTER
        batch._notice_silence()
        named.append(out.file.getvalue().count("it seems to hang"))  # type: ignore[attr-defined]
    assert named == [0, 1, 1, 1, 2]


def test_a_broken_line_is_said_and_passed_over(batch: Batch, run: RunDirectory) -> None:
    run.events.write_text("broken\n")
    ended = batch(0, FINISHED, WorkerStopped(status="finished"))
    assert ended.code == 0 and "all files:" in ended.out and f"{run.events}:1" in ended.err


def test_a_folder_that_is_gone_is_the_reason_why_a_run_ended(
    batch: Batch, run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What else the record, or the log of the worker, would say is gone with it."""
    start = module.Interrupts.handled

    def gone(self: module.Interrupts) -> object:
        run.record.unlink(missing_ok=True)
        return start(self)

    monkeypatch.setattr(module.Interrupts, "handled", gone)
    ended = batch(1)
    assert ended.code == 1 and ended.err.splitlines()[0] == (
        f"the run's folder was moved or deleted while the engine worked in it ({run.path}): "
        "if it was moved, resume it where it is now"
    )


def test_what_earlier_attempts_did_is_not_shown_again(batch: Batch, run: RunDirectory) -> None:
    """The log so far is read to its end, past a broken line and more than is read at once."""
    first, *others = (encode(Notice(seq=seq, text="of before")) for seq in range(10_001))
    with run.events.open("ab") as file:
        file.write(first + b"broken\n" + b"".join(others) + encode(Notice(seq=10_001, text="of old")))
    ended = batch(0, Notice(text="of now"), FINISHED, WorkerStopped(status="finished"))
    assert (
        ended.code == 0
        and "of now" in ended.out
        and "of before" not in ended.out
        and "of old" not in ended.out
    )


def test_all_that_a_worker_wrote_before_it_ended_is_read(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is gone when it is looked at first; a broken line divides what it left."""

    class Gone(Worker):
        def poll(self) -> int:
            if self.written:
                with self.log.open("ab") as file:
                    file.write(encode(self.written[0]) + b"broken\n" + encode(self.written[1]))
                self.written = []
            return 0

    left: list[Event] = [msgspec.structs.replace(FINISHED, seq=0), WorkerStopped(seq=1, status="finished")]
    out = Console(file=io.StringIO(), width=200)
    monkeypatch.setattr(module, "start_worker", lambda directory: Gone(run.events, 0, left))
    assert module.run_batch(run, out, out) == 0
    said = f"damaged lines of the log, passed over: 1; the first is {run.events}:2\n"
    assert said in out.file.getvalue()  # type: ignore[attr-defined]


def test_the_exit_code_of_a_worker_that_reported_its_failure_is_waited_for(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wrong input has a code of its own, which is known once the process has gone."""

    class Slow(Worker):
        def wait(self, timeout: float) -> int:
            self.returncode = 2
            return 2

    out = Console(file=io.StringIO(), width=200)
    monkeypatch.setattr(module, "start_worker", lambda directory: Slow(run.events, None, [FAILED]))
    assert module.run_batch(run, out, out) == 2


def made(run: RunDirectory, worker: Worker, out: Console) -> module._Batch:
    return module._Batch(
        run, LogReader(run.events), worker, module.Display(out), RunState(), out,  # type: ignore[arg-type]
        module.Interrupts(), _last_event_at=0.0,
    )  # fmt: skip


def test_a_log_of_one_event_that_is_gone_was_removed(run: RunDirectory) -> None:
    """A record alone may have come back; before the first event there is no log."""
    batch = made(run, Worker(run.events), Console(file=io.StringIO()))
    run.events.unlink()
    assert not batch._is_removed()
    batch._state.apply(Notice(seq=0, text="x"))
    assert batch._is_removed()


def test_silence_begins_with_the_last_event(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event every 3 s is no silence of 5 s, however long it goes on."""
    out, now = Console(file=io.StringIO(), width=200), 0.0

    class Steady(Worker):
        def poll(self) -> int | None:
            nonlocal now
            now += 3.0
            if len(self.written) == 1 and now < 15.0:  # once nothing is written
                return None
            return super().poll()

    written: list[Event] = [*(Notice(text=str(n)) for n in range(3)), WorkerStopped(status="finished")]
    clock = SimpleNamespace(monotonic=lambda: now, sleep=lambda seconds: None)
    status = module.inspect(run.path)
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(module, "HUNG_AFTER", 5.0)
    monkeypatch.setattr(module, "inspect", lambda path: replace(status, state="hung"))
    assert made(run, Steady(run.events, None, written), out).follow() == 0
    assert "it seems to hang" not in out.file.getvalue()  # type: ignore[attr-defined]


def test_errors_are_red_on_a_terminal_and_on_one_line(run: RunDirectory) -> None:
    errors = Console(
        file=io.StringIO(), width=30, force_terminal=True, color_system="standard", no_color=False
    )
    run.events.write_text("broken\n")
    batch = module._Batch(
        run, LogReader(run.events), Worker(run.events), module.Display(errors), RunState(), errors,  # type: ignore[arg-type]
        module.Interrupts(),
    )  # fmt: skip
    assert batch._tail.poll() == []
    batch.report(0)
    batch._error("an error that is longer than the terminal is wide")
    lines = errors.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert len(lines) == 2 and all(line.startswith("\x1b[31m") for line in lines)
