"""The worker process: runs the stages of a prepared run in order and leaves it resumable.

It reports only through the event log, the run's record and, where neither can be written, the lock file.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import threading
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from engine.config.config import Config
from engine.config.file import load_config
from engine.errors import DiskError, RunError, SteerError, full_disk_errors
from engine.events import (
    Event,
    Notice,
    Preparing,
    StageBegunAgain,
    StageFailed,
    StageFinished,
    StageFinishedBefore,
    StageProgress,
    StageStopped,
    WorkerStarted,
    WorkerStopped,
)
from engine.files import remove_unfinished
from engine.lm.kept_texts import KeptTexts, UnderWay
from engine.lm.reporting import Reporting
from engine.lm.shared_models import SharedModels
from engine.run.control import ControlServer
from engine.run.directory import RunDirectory, RunRecord, StageRecord
from engine.run.event_log import EventLog, header_of
from engine.run.gate import Gate, StopRequested
from engine.run.lock import RunLock
from engine.run.registry import resolve_stage
from engine.run.stage import Stage, StageContext
from engine.run.stage_choices import (
    KEPT_TEXTS,
    Choice,
    apply,
    change_of,
    chosen,
    has_choices,
    kept_in,
    put_aside,
)
from engine.run.stage_files import write_stage_files
from engine.run.stage_state import Stages, fold_stages
from engine.run.stop_signals import stop_signals
from engine.scale.spread import ReplicaSpread, spreading
from engine.scale.work import Spread
from engine.servers.known_servers import KnownServers
from engine.servers.usage import UsageBook
from engine.versions import versions

FINISHED, FAILED, BAD_INPUT, STOPPED = 0, 1, 2, 130
"""Exit codes."""

_HEARTBEAT_SECONDS = 1.0
_OUT_OF_MEMORY = re.compile(
    "cannot allocate memory|can't allocate memory|failed to map segment", re.IGNORECASE
)
_log = logging.getLogger(__name__)


def run_worker(path: Path) -> int:
    """Work on the run in `path` until it is through, stopped or failed; the exit code says which.

    Raises RunError if there is no run, or another worker is at work on it.
    """
    directory = RunDirectory(path.absolute())
    record = directory.read()
    lock = RunLock(directory.lock)
    try:
        return Worker(directory, record, lock).run()
    finally:
        lock.release()


class Worker:
    """One attempt at a run."""

    def __init__(self, directory: RunDirectory, record: RunRecord, lock: RunLock) -> None:
        self._directory = directory
        self._record = record
        self._lock = lock
        self._log: EventLog | None = None
        self._gate = Gate(self._emit, self._note_status)
        self._servers = KnownServers(UsageBook(directory.path, self._emit))
        self._stage = ""
        self._stages: Stages = {}
        self._kept: KeptTexts | None = None
        self._choice_lock, self._over = threading.Lock(), False
        self._record_lock = threading.Lock()

    def run(self) -> int:
        """Run what is left of the run. Never raises for what goes wrong in it."""
        try:
            with stop_signals(self._gate.stop, lambda: os._exit(STOPPED)):
                code = self._attempt()
        except BaseException as error:  # code of the user's own may raise anything
            code = self._fail(error)
        self._close_log()
        return code

    def _attempt(self) -> int:
        self._open_log()
        config = load_config(self._directory.config)
        self._begin(config)
        with self._heartbeat(), self._control():  # from here on: loading the libraries takes seconds
            return self._work(config)

    def _work(self, config: Config) -> int:
        left = [name for name in config.run.stages if self._stage_record(name).status != "finished"]
        if any(not self._stage_record(name).skipped for name in left):
            self._emit(Preparing(doing="loading the libraries that the stages need"))
        reporting = Reporting(self._emit, self._gate.checkpoint, self._gate.clock)
        self._kept = KeptTexts(self._directory.path / KEPT_TEXTS)
        if texts := self._kept.in_words():
            self._emit(Notice(text=f"texts of the last attempt: {texts}; only what is missing is written"))
        models = SharedModels(self._emit, reporting, self._kept)
        try:
            with spreading(config.scale) as spread:
                stages = {name: self._make(name) for name in config.run.stages}
                while (name := self._next(stages)) is not None:
                    self._run_stage(name, stages.pop(name), config, models, spread)
        except StopRequested:
            return self._end("stopped", STOPPED)
        return self._end("finished", FINISHED)

    # ------------------------------------------------------------ stages

    def _next(self, stages: Mapping[str, Stage | None]) -> str | None:
        """The first of `stages` that is not left out; from here on it is at work, unless it is finished (None)."""
        if (name := self._first(stages)) is not None and stages[name] is not None:
            self._gate.boundary()
        with self._choice_lock:
            self._stage = name = self._first(stages) or ""
            self._over = not name
            if stages.get(name) is not None:
                self._begin_stage(name)
            return name or None

    def _first(self, stages: Iterable[str]) -> str | None:
        return next((name for name in stages if not self._stage_record(name).skipped), None)

    def _choose(self, choice: Choice, stage: str, undo: bool) -> Sequence[str]:
        """A choice about a stage that comes over the socket; the stages that it changes. Raises RunError."""
        with self._choice_lock:
            change = change_of(self._record, choice, stage, undo, working=True)
            if self._over:
                hint = "try again in a moment"
                raise RunError(what="the run is at its end", where=str(self._directory.path), hint=hint)
            apply(self._record, change)
            self._write_record()
            self._emit(chosen(self._record))
        return change.stages

    def _make(self, name: str) -> Stage | None:
        done = self._stage_record(name).status == "finished"
        return None if done else resolve_stage(name)

    def _run_stage(
        self, name: str, stage: Stage | None, config: Config, models: SharedModels, spread: Spread
    ) -> None:
        """Run one stage (None: it is finished). Raises whatever it raises."""
        if stage is None:
            self._emit(StageFinishedBefore())
            return
        record = self._stage_record(name)

        def unload() -> None:
            models.unload()
            if isinstance(spread, ReplicaSpread):
                spread.close()

        context = StageContext(
            name, config, self._directory.path, self._emit, self._gate.checkpoint, models, self._gate.boundary, spread,
            self._servers, self._gate.clock, unload,
        )  # fmt: skip
        self._emit(Preparing(doing=f"loading data and models for {name}"))
        started = self._gate.clock()
        try:
            with full_disk_errors(self._directory.path):
                result = stage.run(context)
        except StopRequested:
            record.status = "stopped"
            texts = UnderWay() if self._kept is None else self._kept.under_way
            self._emit(StageStopped(done=context.done, **asdict(texts)))
            raise
        finally:
            self._servers.usage.settle()
            record.seconds = round(record.seconds + self._gate.clock() - started, 3)
        self._emit(
            StageFinished(
                seconds=record.seconds, summary=result.summary, files=result.files, verdict=result.verdict
            )
        )
        if self._record.sweep is not None and self._log is not None:
            write_stage_files(self._directory.path, name, self._log.events)
        record.status, record.summary, record.files = "finished", result.summary, result.files
        record.verdict = result.verdict
        self._write_record()

    def _begin_stage(self, name: str) -> None:
        """It begins, or goes on; a stale one has a new record from here on."""
        if self._stage_record(name).stale:
            self._emit(StageBegunAgain(kept=kept_in(self._record)))
            self._record.stages[name] = StageRecord()
        self._stage_record(name).status = "running"
        self._write_record()

    # ------------------------------------------------------------ beginning and end

    def _open_log(self) -> None:
        self._log = EventLog(self._directory.events, header_of(self._record))

    def _begin(self, config: Config) -> None:
        remove_unfinished(self._directory.path)
        record = self._record
        record.status, record.failure = "running", ""
        record.attempts += 1
        put_aside(self._directory.path, record)
        self._write_record()
        self._emit(WorkerStarted(pid=os.getpid(), attempt=record.attempts, stages=config.run.stages))
        if has_choices(record):
            self._emit(chosen(record))
        changed = _differences(record.versions, versions())
        if changed and record.attempts > 1:
            text = f"the run was started with other versions ({changed}): results may differ"
            self._emit(Notice(text=text, level="warning"))

    def _end(self, status: str, code: int) -> int:
        self._stage = ""
        self._record.status = status
        self._write_record()
        self._emit(WorkerStopped(status=status, kept=str(self._directory.path)))
        return code

    def _fail(self, error: BaseException) -> int:
        """Report a failure in the event log and the record; where they cannot be written, in the lock file."""
        event, code = describe_failure(error)
        line = one_line(event)
        _log.error(line, exc_info=None if isinstance(error, SteerError) else error)
        if self._stage:
            self._stage_record(self._stage).status = "failed"
        self._record.status, self._record.failure = "failed", line
        ended = WorkerStopped(status="failed", kept=str(self._directory.path))
        for say in (lambda: self._emit(event), self._write_record, lambda: self._emit_of_run(ended)):
            try:
                say()
            except (SteerError, OSError):
                self._lock.say(line)
        return code

    def _close_log(self) -> None:
        if self._log is not None:
            with suppress(SteerError, OSError):
                self._log.close()

    # ------------------------------------------------------------ what goes on beside the stages

    @contextmanager
    def _heartbeat(self) -> Iterator[None]:
        """Show every second that the process lives, and bring the log to the disk."""
        over = threading.Event()

        def beat() -> None:
            while not over.wait(_HEARTBEAT_SECONDS):
                self._lock.beat()
                if self._log is not None:
                    with suppress(SteerError, OSError):  # the log raises it again at the next event
                        self._log.sync()

        thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    @contextmanager
    def _control(self) -> Iterator[None]:
        """Take commands. A run without a socket still runs: signals stop it."""
        try:
            server = ControlServer(self._directory.control, self._gate, self._status, self._choose)
        except OSError as error:
            text = f"no control socket ({error}): this run can be stopped by signal, not paused"
            self._emit(Notice(text=text, level="warning"))
            yield
            return
        try:
            yield
        finally:
            server.close()

    def _status(self) -> dict[str, Any]:
        state = {"pid": os.getpid(), "state": self._gate.state, "stage": self._stage}
        stage, progress = self._stages.get(self._stage), {}
        if stage is not None and stage.started:
            progress = {"done": stage.done, "total": stage.total, "unit": stage.unit}
        return state | {"attempt": self._record.attempts} | progress

    # ------------------------------------------------------------ log and record

    def _emit(self, event: Event) -> None:
        if self._log is not None:
            fold_stages(self._stages, self._log.emit(event, self._stage))
        if self._kept is not None and isinstance(event, StageProgress | StageFinished):
            self._kept.clear()  # what was generated is in the stage's own files now

    def _emit_of_run(self, event: Event) -> None:
        self._stage = ""
        self._emit(event)

    def _note_status(self, status: str) -> None:
        self._record.status = status
        self._write_record()

    def _stage_record(self, name: str) -> StageRecord:
        return self._record.stages.setdefault(name, StageRecord())

    def _write_record(self) -> None:
        if self._log is not None:
            self._log.check_place()
        with self._record_lock:
            self._directory.write(self._record)


def describe_failure(error: BaseException) -> tuple[StageFailed, int]:
    """The event that tells of `error`, and the exit code: BAD_INPUT for what the program refuses, FAILED for the
    disk, too little memory, too many files and what it did not foresee."""
    if isinstance(error, SteerError):
        code = FAILED if isinstance(error, DiskError) else BAD_INPUT
        return StageFailed(what=error.what, where=error.where, hint=error.hint), code
    text = "".join(traceback.format_exception(error))
    if shortage := _shortage(error):
        return StageFailed(
            what=shortage[0], hint=f"{shortage[1]} and resume: what was finished is kept"
        ), FAILED
    event = StageFailed(
        what=f"{type(error).__name__}: {error}",
        where=_innermost(error.__traceback__),
        hint="the program did not foresee this: worker.log has the traceback; what was finished is kept",
        traceback=text,
    )
    return event, FAILED


def _shortage(error: BaseException) -> tuple[str, str] | None:
    """(what the machine has too little of, what to do) for an error that says so."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return "too many files are open", "raise the limit (`ulimit -n 1024`)"
    if isinstance(error, MemoryError) or (
        isinstance(error, OSError | ImportError | RuntimeError) and _OUT_OF_MEMORY.search(str(error))
    ):
        return f"not enough memory: {error}" if str(
            error
        ) else "not enough memory", "free some, raise its limit"
    return None


def one_line(event: StageFailed) -> str:
    """`what (where): mend`."""
    where = f" ({event.where})" if event.where else ""
    hint = f": {event.hint}" if event.hint else ""
    return " ".join(f"{event.what}{where}{hint}".split())


def _innermost(frames: TracebackType | None) -> str:
    summary = traceback.extract_tb(frames)
    return f"{summary[-1].filename}:{summary[-1].lineno}" if summary else ""


def _differences(before: dict[str, str], now: dict[str, str]) -> str:
    names = sorted(name for name in before.keys() & now.keys() if before[name] != now[name])
    return ", ".join(f"{name} {before[name]}, now {now[name]}" for name in names)
