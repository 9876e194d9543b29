"""`steer-tui batch`: the same worker and the same log as in the console, shown as lines."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from app.batch.display import Display
from app.batch.result_tables import print_results
from app.runs.client import request_stop, start_worker
from app.runs.workers import how_it_ended, last_words, recorded_failure
from app.state.run import RunState
from app.wording.text import error_line, kept_line
from engine.events import StageFailed, WorkerStopped
from engine.run.directory import RunDirectory, inspect
from engine.run.event_log import LogEntry, LogReader
from engine.run.lock import HUNG_AFTER

FINISHED, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""

PATIENCE = 5.0
"""Seconds that an interrupted batch waits for the engine to stop."""

_POLL_SECONDS = 0.05
_CODES = {"finished": FINISHED, "stopped": INTERRUPTED}


class Interrupts:
    """Counts Ctrl+C and SIGTERM; from the second on they are raised as KeyboardInterrupt."""

    def __init__(self) -> None:
        self.count = 0

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Count while inside."""
        before = {number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: object) -> None:
        self.count += 1
        if self.count > 1:
            raise KeyboardInterrupt


def run_batch(directory: RunDirectory, console: Console, errors: Console) -> int:
    """Work on a prepared run until it ends; returns the exit code."""
    interrupts = Interrupts()
    with interrupts.handled():
        state, tail = RunState(), LogReader(directory.events)
        while history := tail.poll():
            for entry in history:
                state.apply(*entry)
        process = start_worker(directory)
        display = Display(console)
        display.print(f"run: {directory.path}")
        batch = _Batch(directory, tail, process, display, state, errors, interrupts)
        try:
            code = batch.follow()
        except KeyboardInterrupt:
            batch.print_resume("left; the engine stops after its current item")
            return INTERRUPTED
        except BaseException:  # a closed pipe, a bug: leave no worker behind
            request_stop(directory)
            raise
        print_results(state, console, directory)
        batch.report(code)
        return code


@dataclass
class _Batch:
    """Watches an attempt of a run."""

    _directory: RunDirectory
    _tail: LogReader
    _process: subprocess.Popen[bytes]
    _display: Display
    _state: RunState
    _errors: Console
    _interrupts: Interrupts
    _failure: StageFailed | None = None
    _end: WorkerStopped | None = None
    _asked_at: float | None = None
    _last_event_at: float = field(default_factory=time.monotonic)

    def follow(self) -> int:
        """Show the run until its worker has exited or has reported its end."""
        while True:
            has_exited = self._process.poll() is not None
            entries = self._tail.poll()
            for entry in entries:
                self._show(entry)
            if self._end is not None:
                return self._code_of_end(self._end.status)
            if has_exited and not entries:
                return INTERRUPTED if self._asked_at is not None else self._code_without_end()
            if self._interrupts.count and self._asked_at is None:
                self._ask_to_stop()
            if self._asked_at is not None and time.monotonic() - self._asked_at > PATIENCE:
                return INTERRUPTED
            if entries:
                self._last_event_at = time.monotonic()
            else:
                self._notice_silence()
                time.sleep(_POLL_SECONDS)

    def report(self, code: int) -> None:
        """Print how the run ended, and how to resume it."""
        if self._tail.damage:
            self._error(self._tail.damage)
        if self._failure is not None:
            failure = self._failure
            line = error_line(failure.what, failure.where, failure.hint)
            self._error(f"{failure.stage}: {line}" if failure.stage else line)
        elif code == INTERRUPTED and self._end is None and self._process.poll() is None:
            pid = self._process.pid
            self.print_resume(f"no answer from the engine (pid {pid}) yet: it stops after its current item")
            return
        elif code in (FAILED, BAD_INPUT):
            self._error(self._reason_without_end())
        if code != FINISHED and not self._is_removed():
            self.print_resume("stopped" if code == INTERRUPTED else "")

    def print_resume(self, first: str) -> None:
        """Print where the work is kept, and how to resume it."""
        self._errors.print(Text(kept_line(self._directory.path, first)), soft_wrap=True)

    def _show(self, entry: LogEntry) -> None:
        self._state.apply(*entry)
        event = entry.event
        if isinstance(event, StageFailed):
            self._failure = event
        elif isinstance(event, WorkerStopped):
            self._end = event
        else:
            self._display.show(event, self._state.stages)

    def _notice_silence(self) -> None:
        """Print now and then that the worker shows no sign of life."""
        if time.monotonic() - self._last_event_at < HUNG_AFTER:
            return
        self._last_event_at = time.monotonic()
        if inspect(self._directory.path).state == "hung":
            text = f"no sign of life from the worker (pid {self._process.pid}) for a while: it seems to hang"
            self._display.print(text, "yellow")

    def _ask_to_stop(self) -> None:
        self._asked_at = time.monotonic()
        self._display.print(
            "asking the engine to stop; what is finished is kept (Ctrl+C again leaves at once)"
        )
        if not request_stop(self._directory):
            self._process.terminate()  # no socket and no lock yet: nothing has started

    def _code_of_end(self, status: str) -> int:
        """The exit code for the reported end, once the process has exited."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE)
        if status in _CODES:
            return _CODES[status]
        return self._code_without_end()

    def _code_without_end(self) -> int:
        return BAD_INPUT if self._process.returncode == BAD_INPUT else FAILED

    def _reason_without_end(self) -> str:
        """Why the worker exited, from its record, exit code and log."""
        if self._is_removed():
            what = "the run's folder was moved or deleted while the engine worked in it"
            return error_line(what, str(self._directory.path), "if it was moved, resume it where it is now")
        if failure := recorded_failure(self._directory):
            return failure
        last = last_words(self._directory)
        hint = f"its log ends with: {last}" if last else "resume the run"
        return error_line(how_it_ended(self._process.returncode or 0), str(self._directory.path), hint)

    def _is_removed(self) -> bool:
        """Whether the run's folder was moved or deleted; it may be back, with the file that was being written."""
        has_log = self._state.seq < 0 or self._directory.events.exists()
        return not (has_log and self._directory.record.exists())

    def _error(self, text: str) -> None:
        self._errors.print(Text(text, style="red"), soft_wrap=True)
