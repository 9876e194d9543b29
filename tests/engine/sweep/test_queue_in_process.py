"""Which run a queue starts when, and whom it asks to stop; its workers work in this process, or are invented."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from engine.errors import DiskError
from engine.processes.engine_process import engine_command, engine_environment
from engine.run.directory import RunDirectory, RunStatus
from engine.run.lock import RunLock
from engine.run.worker import run_worker
from engine.sweep import queue as sweep_queue
from engine.sweep.queue import Queue, run_queue
from engine.sweep.results import SweepReader
from engine.sweep.sweep import Point, SweepFolder
from tests.engine.sweep.conftest import made, work_on

Sweep = Callable[..., SweepFolder]


class Process:
    """A worker that runs, or is through."""

    def __init__(self, pid: int = 0, code: int | None = 0) -> None:
        self.pid, self.code = pid, code

    def poll(self) -> int | None:
        return self.code


@contextmanager
def queue_of(folder: SweepFolder) -> Iterator[Queue]:
    lock = RunLock(folder.lock)
    try:
        yield Queue(folder, folder.read(), lock)
    finally:
        lock.release()


def worked(folder: SweepFolder, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[str]]:
    """The queue's exit code, and the runs that were started, in order."""
    started: list[str] = []

    def start(self: Queue, run: RunDirectory, point: Point) -> None:
        assert folder.read().status == "running"
        started.append(point.run_id)
        run_worker(run.path)
        self._processes[point.run_id] = Process()  # type: ignore[assignment]

    monkeypatch.setattr(Queue, "_start", start)
    monkeypatch.setattr(sweep_queue, "_POLL_SECONDS", 0.0)
    with queue_of(folder) as queue:
        return queue.run(), started


def test_the_runs_are_done_in_order_and_the_best_setting_last(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = sweep("online.k_scale=2,0.5")
    record = folder.read()
    record.choose_on = "dev"
    folder.write(record)
    code, started = worked(folder, monkeypatch)
    report = f"{folder.path.name.removeprefix('sweep-')}-report"
    assert (code, started) == (0, [*(point.run_id for point in record.points), report])
    found = SweepReader(folder).read()
    assert found.record.status == "finished" and found.record.report == Point(
        1, report, {"online.k_scale": 2}
    )
    assert [run.state for run in found.runs.values()] == ["finished"] * 3
    assert found.report is not None and found.report.value == found.settings[0].value


def test_without_a_split_to_choose_on_nothing_is_reported(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = sweep("online.k_scale=2,-1,0.5")
    code, started = worked(folder, monkeypatch)
    assert (
        (code, len(started)) == (1, 3) and folder.read().status == "failed" and folder.read().report is None
    )


def test_a_full_disk_keeps_no_run_from_being_done(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue's state is for whoever looks: what is done, is in the runs."""
    folder = sweep("online.L=3,5")

    def full(self: SweepFolder, record: object) -> None:
        raise DiskError(what="the disk is full", where=str(self.state), hint="")

    monkeypatch.setattr(SweepFolder, "write", full)
    monkeypatch.setattr(Queue, "_start", lambda self, run, point: run_worker(run.path))
    with queue_of(folder) as queue:
        assert queue.run() == 0
    runs = [folder.status(point) for point in folder.read().points]
    assert [run and run.state for run in runs] == ["finished"] * 2


def test_a_queue_that_is_through_lets_go_of_its_sweep(sweep: Sweep) -> None:
    folder = sweep("online.L=3,5")
    work_on(folder)
    for _ in range(2):
        assert run_queue(folder.path) == 0
        assert folder.lock.read_bytes() == b"" and folder.read().status == "finished"


@pytest.mark.parametrize("of_this_queue", [True, False])
@pytest.mark.parametrize(("jobs", "at_work", "starts"), [(1, 0, 1), (1, 1, 0), (2, 1, 1), (2, 2, 0)])
def test_no_more_runs_at_a_time_than_asked_for(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch, jobs: int, at_work: int, starts: int, of_this_queue: bool
) -> None:
    """A worker of an earlier queue, which was killed, counts as well."""
    folder = sweep("online.L=3,5,7", jobs=jobs)
    started: list[str] = []
    monkeypatch.setattr(Queue, "_start", lambda self, run, point: started.append(point.run_id))
    monkeypatch.setattr(sweep_queue.time, "sleep", one_look)
    with queue_of(folder) as queue, ExitStack() as locks:
        points = folder.read().points
        for point in points[:at_work]:
            run = made(queue._maker, point)
            if of_this_queue:
                queue._processes[point.run_id] = Process(code=None)  # type: ignore[assignment]
            else:
                locks.callback(RunLock(run.lock).release)
        with pytest.raises(Looked):
            queue._work(points)
        assert started == [point.run_id for point in points[at_work : at_work + starts]]


class Looked(Exception):
    """The queue has looked once."""


def one_look(seconds: float) -> None:
    raise Looked


@pytest.mark.parametrize("field", ["online.k_scale", "online.L"])
def test_a_run_waits_while_another_does_its_first_stage(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    """Both settings of k_scale gather the same; of L they do not. What was begun before goes first."""
    folder = sweep(f"{field}=3,5,7", jobs=3)
    started: list[str] = []
    monkeypatch.setattr(Queue, "_start", lambda self, run, point: started.append(point.run_id))
    with queue_of(folder) as queue:
        first, second, third = folder.read().points
        run = made(queue._maker, first)
        status = RunStatus(run, run.read(), "running")
        left: list[tuple[Point, RunStatus | None]] = [(second, None), (third, None)]
        queue._start_one(left, [(first, status)])
        assert started == ([] if field == "online.k_scale" else [second.run_id])
        assert (queue._no_sooner > 0) == (field == "online.k_scale")
        queue._start_one(left, [(first, None)])
        queue._start_one([(second, None), (third, replace(status, state="stopped"))], [(first, status)])
        assert started[-1] == third.run_id


def test_where_all_wait_it_is_looked_again_after_half_a_second(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the queue shows every second that it lives."""
    folder = sweep("online.k_scale=3,5")
    now, looks, beats = [100.0], list[float](), list[float]()
    monkeypatch.setattr(sweep_queue, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with queue_of(folder) as queue:
        first, second = folder.read().points
        run = made(queue._maker, first)
        status = RunStatus(run, run.read(), "running")
        monkeypatch.setattr(queue._maker, "donor", lambda point, runs: looks.append(now[0]))
        monkeypatch.setattr(queue._lock, "beat", lambda: beats.append(now[0]))
        for now[0] in (100.0, 100.4, 100.5, 100.9, 101.0, 101.9, 102.0):
            queue._beat()
            queue._start_one([(second, None)], [(first, status)])
    assert looks == [100.0, 100.5, 101.0, 101.9]
    assert beats == [100.0, 101.0, 102.0]


def test_a_worker_is_a_process_of_its_own(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal to the queue's terminal does not reach it; it reads nothing, and what it says goes into its log."""
    folder = sweep("online.L=3,5")
    started: list[tuple[list[str], dict[str, Any]]] = []

    def start(command: list[str], **how: Any) -> Process:
        how["stdout"].write(b"begun\n")
        started.append((command, how))
        return Process(7)

    monkeypatch.setattr(sweep_queue.subprocess, "Popen", start)
    with queue_of(folder) as queue:
        point = folder.read().points[0]
        run = made(queue._maker, point)
        run.worker_log.write_bytes(b"before\n")
        queue._start(run, point)
        assert queue._processes[point.run_id].pid == 7
    ((command, how),) = started
    assert command == engine_command("run", str(run.path))
    assert how["stdin"] == subprocess.DEVNULL and how["stdout"] is how["stderr"] and how["start_new_session"]
    assert how["env"] == engine_environment()
    assert run.worker_log.read_bytes() == b"before\nbegun\n"


def test_each_worker_is_asked_to_stop_once(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child by its own id; one of an earlier queue on this machine by its lock's; none that has no lock yet."""
    folder = sweep("online.L=3,5,7,9")
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: asked.append((pid, number)))
    with queue_of(folder) as queue:
        child, earlier, elsewhere, starting = folder.read().points
        queue._processes[child.run_id] = Process(11, None)  # type: ignore[assignment]
        queue._processes[starting.run_id] = Process(14, None)  # type: ignore[assignment]
        run = made(queue._maker, child)
        here = RunStatus(run, run.read(), "running", pid=12, host=socket.gethostname())
        at_work: list[tuple[Point, Any]] = [
            (child, here), (earlier, here), (elsewhere, replace(here, pid=13, host="another")),
            (starting, replace(here, pid=None)),
        ]  # fmt: skip
        queue._ask_to_stop(at_work)
        queue._ask_to_stop(at_work)
    assert asked == [(11, signal.SIGTERM), (12, signal.SIGTERM)]


def test_a_stopped_queue_starts_nothing_and_tells_whether_something_is_left(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = sweep("online.L=3,5")
    with queue_of(folder) as queue:
        queue.stop()
        assert queue.run() == 130
    assert folder.read().status == "stopped"
    assert worked(folder, monkeypatch)[0] == 0
    with queue_of(folder) as queue:
        queue.stop()
        assert queue.run() == 0, "nothing was left to be done"
