"""Replicas on this machine: their processes, cores, pipes and ends."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing import Pipe
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest

from engine import events as ev
from engine.config.scale import ScaleSection
from engine.errors import DataError, RunError
from engine.scale import local_processes
from engine.scale.local_processes import (
    LocalBackend,
    LocalProcess,
    ReplicaDied,
    _answer,
    _serve,
    _threads,
    load_libraries,
)
from engine.scale.replica import Replica
from engine.scale.spread import spreading
from engine.scale.work import WorkContext
from tests.engine.scale.processes import descendants, living
from tests.engine.scale.works import DiesOnce, Fails, Squares
from tests.exactly import exactly


def test_two_replicas_of_this_machine_give_results_in_order_and_survive_a_death(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Item 3 kills the first that gets it. What each reports arrives before its result; both end with the run."""
    monkeypatch.setattr("engine.scale.local_processes._LIBRARIES", [])  # these works need none
    events: list[ev.Event] = []
    context = WorkContext(lambda section: pytest.fail("loads a model"), lambda: None, events.append)
    with spreading(ScaleSection(replicas=2)) as spread:
        assert list(spread(DiesOnce(str(tmp_path / "died"), fatal=3), context)(range(8))) == [
            -n for n in range(8)
        ]
        (lost,) = [event for event in events if isinstance(event, ev.ReplicaLost)]
        assert (lost.life, lost.reason) == (1, "its process ended (exit code -9)")
        for n, square in enumerate(spread(Squares(), context)(range(4))):
            assert square == n * n and ev.Notice(text=f"item {n}") in events
        with pytest.raises(DataError, match="nothing there"):
            list(spread(Fails("open"), context)(range(4)))
        children = descendants(os.getpid())
        assert len(living(children)) >= 2
    assert events[0] == ev.ClusterJoined(engine="local", replicas=2)
    until = time.monotonic() + 10
    while living(children & _replicas(events)) and time.monotonic() < until:
        time.sleep(0.01)
    assert not living(_replicas(events))


def _replicas(events: list[ev.Event]) -> set[int]:
    return {event.pid for event in events if isinstance(event, ev.ReplicaStarted)}


class _NeedsTwo(Exception):
    """Cannot be read back: pickle gives it one argument."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first}, {second}")


@pytest.mark.parametrize(
    ("raised", "arrives"),
    [
        (ZeroDivisionError("by zero"), ZeroDivisionError("by zero")),
        (_NeedsTwo("a", "b"), RuntimeError("_NeedsTwo: a, b")),
    ],
)
def test_an_error_of_a_replica_arrives_with_its_traceback(raised: Exception, arrives: Exception) -> None:
    replica = Replica(lambda event: None)

    def do(item: object) -> object:
        raise raised

    replica._do = do
    _, error = pickle.loads(pickle.dumps(_answer(replica, ("item",), [])))
    assert (type(error), str(error)) == (type(arrives), str(arrives))
    assert "in do\n    raise raised" in error.__notes__[0]


def test_what_replicas_need_is_loaded_before_them_where_they_are_forked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[object] = []
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(local_processes.multiprocessing, "set_forkserver_preload", done.append)
    monkeypatch.setattr(
        local_processes.forkserver, "ensure_running", lambda: done.append(os.environ["OMP_NUM_THREADS"])
    )
    for method, expected in (("spawn", []), ("forkserver", [local_processes._LIBRARIES, "2"])):
        monkeypatch.setattr(
            local_processes, "_processes", SimpleNamespace(get_start_method=lambda method=method: method)
        )
        load_libraries(3)
        assert done == expected
    assert "OMP_NUM_THREADS" not in os.environ


@pytest.mark.parametrize(
    ("cores", "replicas", "threads"), [(8, 2, "4"), (8, 3, "2"), (2, 3, "1"), (None, 1, "1")]
)
def test_replicas_share_the_cores(
    monkeypatch: pytest.MonkeyPatch, cores: int | None, replicas: int, threads: str
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    with pytest.raises(KeyError), _threads(replicas):
        assert os.environ["OMP_NUM_THREADS"] == threads
        raise KeyError
    assert "OMP_NUM_THREADS" not in os.environ
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    with _threads(replicas):
        assert os.environ["OMP_NUM_THREADS"] == "7", "what was asked for"
    assert os.environ["OMP_NUM_THREADS"] == "7"


@pytest.mark.parametrize(("visible", "count"), [("", 0), ("3", 1), ("GPU-a,,GPU-b", 2)])
def test_gpus_that_this_process_may_see_are_dealt_to_replicas(
    monkeypatch: pytest.MonkeyPatch, visible: str, count: int
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    if count:
        each = LocalBackend(ScaleSection(replicas=count, gpus_per_replica=1.0))._gpus
        assert each == [[gpu] for gpu in visible.split(",") if gpu]
    text = (
        f"{count + 1} replicas need 1 GPUs each: this machine has {count} GPUs, enough for {count} "
        "(scale.gpus_per_replica): lower it or scale.replicas, or name the address of a Ray cluster that has more"
    )
    with pytest.raises(RunError, match=exactly(text)):
        LocalBackend(ScaleSection(replicas=count + 1, gpus_per_replica=1.0))


def test_a_gpu_is_shared_by_as_many_replicas_as_wholly_fit_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two with 0.4 of one each, so that six fit on three, and not seven."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2")
    shared = LocalBackend(ScaleSection(replicas=6, gpus_per_replica=0.4))
    assert shared._gpus == [["0"], ["0"], ["1"], ["1"], ["2"], ["2"]]
    with pytest.raises(
        RunError, match=r"^7 replicas need 0.4 GPUs each: this machine has 3 GPUs, enough for 6 "
    ):
        LocalBackend(ScaleSection(replicas=7, gpus_per_replica=0.4))


def test_all_that_replicas_have_reported_is_taken_at_once() -> None:
    backend, reported = LocalBackend(ScaleSection(replicas=2)), [ev.Notice(text=text) for text in "abc"]
    for event in reported:
        backend._events.put(event)
    assert (backend.events(0.0), backend.events(0.0)) == (reported, [])


def test_processes_of_this_machine_are_asked_to_leave_before_any_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[object] = []
    monkeypatch.setattr(local_processes, "time", SimpleNamespace(monotonic=lambda: 100.0))
    processes: Any = [
        SimpleNamespace(
            leave=lambda n=n: said.append(("leave", n)), end=lambda until, n=n: said.append(("end", n, until))
        )
        for n in (0, 1)
    ]
    LocalBackend(ScaleSection(replicas=2)).close(processes)
    assert said == [("leave", 0), ("leave", 1), ("end", 0, 100.5), ("end", 1, 100.5)]


@dataclass
class _Started:
    """Stands in for a process: what it was started with, and what was done to it."""

    target: Any
    args: tuple[Any, ...]
    pid: int = 4711
    exitcode: int = -9
    done: list[object] = field(default_factory=list)

    def start(self) -> None:
        self.done.append("start")

    def join(self, seconds: float) -> None:
        self.done.append(("join", seconds))

    def kill(self) -> None:
        self.done.append("kill")


@pytest.fixture
def asked(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[tuple[LocalProcess, Any, _Started, SimpleQueue[ev.Event]]]:
    """The process of a replica, with a stand-in behind the pipe: the test holds that end."""
    ours, theirs = Pipe()
    kept = SimpleNamespace(send=theirs.send, recv=theirs.recv, poll=theirs.poll, hang_up=theirs.close)
    monkeypatch.setattr(theirs, "close", lambda: None, raising=False)
    monkeypatch.setattr(
        local_processes, "_processes", SimpleNamespace(Pipe=lambda: (ours, theirs), Process=_Started)
    )
    events: SimpleQueue[ev.Event] = SimpleQueue()
    process = LocalProcess(events, ["3"])
    started: Any = process._process
    assert (started.target, started.args, started.done) == (_serve, (theirs, ["3"]), ["start"])
    yield process, kept, started, events
    kept.hang_up()  # whoever still waits for an answer


def test_a_replica_is_asked_for_one_thing_after_another(asked: Any) -> None:
    """What it reports arrives before the answer; what it raised is raised."""
    process, pipe, _, events = asked
    work: Any = Squares()
    opening, first, second = process.start(work, "/folder"), process.do(1), process.do(2)
    assert pipe.recv() == (work, "/folder") and not pipe.poll(0.02)
    pipe.send(ev.Notice(text="opens"))
    pipe.send(("opened", None))
    assert opening.result(5) == "opened" and events.get(timeout=0) == ev.Notice(text="opens")
    assert pipe.recv() == (1,) and not pipe.poll(0.02)
    pipe.send((None, ZeroDivisionError("by zero")))
    with pytest.raises(ZeroDivisionError, match="by zero"):
        first.result(5)
    assert pipe.recv() == (2,)
    pipe.send((4, None))
    assert second.result(5) == 4 and events.empty()
    process.leave()
    assert pipe.recv() is None
    pipe.send((None, None))


def test_a_replica_whose_pipe_is_closed_has_died(asked: Any) -> None:
    process, pipe, started, _ = asked
    done = process.do(1)
    pipe.recv()
    pipe.hang_up()
    with pytest.raises(ReplicaDied, match=exactly("its process ended (exit code -9)")):
        done.result(5)
    assert started.done == ["start", ("join", 5.0)]
    process.leave()


@pytest.mark.parametrize(("until", "waits"), [(102.5, 2.5), (99.0, 0.0)])
def test_a_replica_ends_with_all_that_it_has_started(
    asked: Any, monkeypatch: pytest.MonkeyPatch, until: float, waits: float
) -> None:
    process, _, started, _ = asked
    monkeypatch.setattr(local_processes, "time", SimpleNamespace(monotonic=lambda: 100.0))

    def killpg(group: int, number: int) -> None:
        started.done.append((group, number))
        raise ProcessLookupError

    monkeypatch.setattr(os, "killpg", killpg)
    process.end(until)
    killed = [(4711, signal.SIGKILL), "kill"]
    assert started.done == ["start", ("join", waits), *killed, ("join", 5.0)]


@dataclass(frozen=True)
class _Where:
    """`n` -> n and the folder; tells of it."""

    def open(self, context: WorkContext) -> Any:
        context.notice("opened")
        return lambda n: (n, os.getcwd(), os.environ["CUDA_VISIBLE_DEVICES"])


def test_a_replica_answers_until_it_is_asked_to_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a group of processes of its own, in the worker's folder, with its GPUs alone."""
    grouped: list[int] = []
    monkeypatch.setattr(os, "setpgrp", lambda: grouped.append(1))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3")
    monkeypatch.chdir(os.getcwd())
    ours, theirs = Pipe()
    for question in ((_Where(), str(tmp_path)), (5,), (_Where(), "/no/such/folder"), None, (6,)):
        ours.send(question)
    _serve(theirs, ["1", "3"])
    assert theirs.recv() == (6,), "it has left"
    theirs.close()
    assert ours.recv() == ev.Notice(text="opened")
    opened, raised = ours.recv()
    assert (opened.gpus, opened.pid, raised) == (["1", "3"], os.getpid(), None)
    assert ours.recv() == ((5, str(tmp_path), "1,3"), None)
    nothing, raised = ours.recv()
    assert nothing is None and isinstance(raised, FileNotFoundError)
    with pytest.raises(EOFError):
        ours.recv()
    assert grouped == [1]
