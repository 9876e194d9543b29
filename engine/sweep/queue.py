"""`python -m engine sweep SWEEP`: starts the runs of a sweep, `jobs` at a time, until all are through.

The queue has nothing to remember but the choice at the end: what is done, is in the runs. Killed, its workers run on;
started again, it waits for them and goes on.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from engine.errors import SteerError, disk_errors
from engine.processes.engine_process import engine_command, engine_environment
from engine.regular_file import open_to_append
from engine.run.directory import RunDirectory, RunStatus
from engine.run.lock import RunLock
from engine.run.stop_signals import stop_signals
from engine.sweep.results import SweepReader
from engine.sweep.runs import RunMaker
from engine.sweep.sweep import PREFIX, Point, SweepFolder, SweepRecord

FINISHED, FAILED, STOPPED = 0, 1, 130
_TRIES = 5
"""Times that a worker may vanish until its run is given up."""
_POLL_SECONDS = 0.1
_ALL_WAIT = 0.5
"""Seconds until it is looked again whether a run may start, where all wait for another's stages."""
_BEAT_EVERY = 1.0
_log = logging.getLogger(__name__)


def run_queue(path: Path) -> int:
    """Work on the sweep in `path`; the exit code: 0 all runs are finished, 1 one failed, 130 stopped. Raises RunError
    if it is no sweep, or another process works on it."""
    folder = SweepFolder(path.absolute())
    record = folder.read()
    lock = RunLock(folder.lock)
    try:
        queue = Queue(folder, record, lock)
        with stop_signals(queue.stop, lambda: os._exit(STOPPED)):
            return queue.run()
    finally:
        lock.release()


class Queue:
    """One attempt at a sweep."""

    def __init__(self, folder: SweepFolder, record: SweepRecord, lock: RunLock) -> None:
        self._folder, self._record, self._lock = folder, record, lock
        self._maker = RunMaker(folder, record)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._given_up: set[str] = set()
        self._tries: dict[str, int] = {}
        self._stopping = threading.Event()
        self._asked: set[str] = set()
        self._beaten = self._no_sooner = 0.0

    def stop(self) -> None:
        """Start no more runs, and stop those that are at work. Called from another thread."""
        self._stopping.set()

    def run(self) -> int:
        """Until all runs are through, or a stop."""
        self._set_status("running")
        code = self._work(self._record.points)
        if code == FINISHED and self._choose():
            assert self._record.report is not None
            code = self._work([self._record.report])
        self._set_status({FINISHED: "finished", STOPPED: "stopped"}.get(code, "failed"))
        return code

    def _choose(self) -> bool:
        """Choose the setting that is reported, once; whether it has a run of its own."""
        if self._record.report is None and self._record.choose_on:
            best = SweepReader(self._folder).read().best
            if best is not None:
                first = best.points[0]
                run_id = f"{self._folder.path.name.removeprefix(PREFIX)}-report"
                self._record.report = Point(first.number, run_id, first.setting)
                self._folder.write(self._record)
        return self._record.report is not None

    def _work(self, points: Sequence[Point]) -> int:
        while True:
            self._beat()
            known = [(point, self._folder.status(point)) for point in points]
            at_work = [(point, status) for point, status in known if self._is_at_work(point, status)]
            left = [(point, status) for point, status in known if self._is_left(point, status)]
            if self._stopping.is_set():
                if not at_work:
                    return STOPPED if left else self._code(known)
                self._ask_to_stop(at_work)
            elif left and len(at_work) < self._record.jobs:
                self._start_one(left, at_work)
            elif not left and not at_work:
                return self._code(known)
            time.sleep(_POLL_SECONDS)

    def _code(self, known: Sequence[tuple[Point, RunStatus | None]]) -> int:
        return FINISHED if all(status and status.state == "finished" for _, status in known) else FAILED

    def _is_at_work(self, point: Point, status: RunStatus | None) -> bool:
        process = self._processes.get(point.run_id)
        if process is not None and process.poll() is None:
            return True
        return status is not None and status.alive

    def _is_left(self, point: Point, status: RunStatus | None) -> bool:
        """Whether the run has to be started. A run that failed is tried again by the next queue."""
        if self._is_at_work(point, status) or point.run_id in self._given_up:
            return False
        if status is not None and status.state == "finished":
            return False
        if point.run_id in self._processes and not self._stopping.is_set():
            return self._is_tried_again(point, status)
        return True

    def _is_tried_again(self, point: Point, status: RunStatus | None) -> bool:
        """A worker that vanished (killed, out of memory) may have better luck; a failure or a stop is an answer."""
        tries = self._tries[point.run_id] = self._tries.get(point.run_id, 0) + 1
        again = tries < _TRIES and status is not None and status.state in ("interrupted", "prepared")
        _log.error("run %s ended as %s", point.run_id, status.state if status else "nothing")
        del self._processes[point.run_id]
        if not again:
            self._given_up.add(point.run_id)
        return again

    def _start_one(
        self,
        left: Sequence[tuple[Point, RunStatus | None]],
        at_work: Sequence[tuple[Point, RunStatus | None]],
    ) -> None:
        """Start the first run that need not wait; one that was begun before goes first."""
        begun = [status for _, status in at_work if status is not None]
        if len(begun) < len(at_work):
            return  # a worker was started just now
        for point, status in left:
            if status is not None:
                self._start(status.directory, point)
                return
        if time.monotonic() < self._no_sooner:
            return
        runs = self._maker.made(self._record.all_points)
        for point, _ in left:
            donor = self._maker.donor(point, runs)
            if not self._maker.must_wait(point, donor, begun):
                self._start(self._maker.make(point, donor), point)
                return
        self._no_sooner = time.monotonic() + _ALL_WAIT

    def _start(self, run: RunDirectory, point: Point) -> None:
        with disk_errors(run.worker_log), open_to_append(run.worker_log) as log:
            self._processes[point.run_id] = subprocess.Popen(
                engine_command("run", str(run.path)), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, env=engine_environment(),
            )  # fmt: skip

    def _ask_to_stop(self, at_work: Sequence[tuple[Point, RunStatus | None]]) -> None:
        """Once each: a second signal would end a worker at once."""
        for point, status in at_work:
            process = self._processes.get(point.run_id)
            pid = process.pid if process is not None and process.poll() is None else None
            if pid is None and status is not None and status.host == socket.gethostname():
                pid = status.pid
            # A worker that has no lock yet does not listen to signals yet: it would be killed, which it survives.
            if pid is not None and point.run_id not in self._asked and status is not None and status.alive:
                self._asked.add(point.run_id)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)

    def _set_status(self, status: str) -> None:
        self._record.status = status
        with suppress(SteerError):
            self._folder.write(self._record)

    def _beat(self) -> None:
        if time.monotonic() - self._beaten >= _BEAT_EVERY:
            self._beaten = time.monotonic()
            self._lock.beat()
