"""Replicas as processes of this machine, with a pipe each."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Lock
from typing import Any

from engine.config.scale import ScaleSection
from engine.errors import RunError
from engine.events import ClusterJoined, Event
from engine.scale.replica import Opened, Replica
from engine.scale.work import Work

_END_SECONDS = 5.0
_LEAVE_SECONDS = 0.5
_processes = multiprocessing.get_context("spawn" if sys.platform == "darwin" else "forkserver")
_LIBRARIES = ["engine.lm.transformers.model", "transformers.models.auto.modeling_auto"]
"""What replicas need, and takes seconds to import: the process that forks them has it."""


def load_libraries(replicas: int) -> None:
    """Begin to load what replicas need, in a process of its own."""
    if _processes.get_start_method() == "forkserver":
        multiprocessing.set_forkserver_preload(_LIBRARIES)
        with _threads(replicas):
            forkserver.ensure_running()


@contextmanager
def _threads(replicas: int) -> Iterator[None]:
    """Processes started meanwhile use each replica's share of the cores, if nothing else was asked for."""
    if "OMP_NUM_THREADS" in os.environ:
        yield
        return
    os.environ["OMP_NUM_THREADS"] = str(max(1, (os.cpu_count() or 1) // replicas))
    try:
        yield
    finally:
        del os.environ["OMP_NUM_THREADS"]


class LocalBackend:
    """This machine: `replicas` processes, which share its cores."""

    log = "worker.log"
    slow_start = "they still load their models"

    def __init__(self, section: ScaleSection) -> None:
        """Raises RunError where there are too few GPUs."""
        replicas, each = section.replicas, section.gpus_per_replica
        self.joined = ClusterJoined(engine="local", replicas=replicas, gpus_per_replica=each)
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._replicas = replicas
        self._gpus = _shares(_visible_gpus(), replicas, each) if each else []

    def new_process(self, number: int) -> LocalProcess:
        """The process of replica `number`, with its share of the cores and GPUs."""
        gpus = self._gpus[number] if self._gpus else []
        with _threads(self._replicas):
            return LocalProcess(self._events, gpus)

    def share(self, work: Work[Any, Any]) -> Work[Any, Any]:
        """The work itself: a pipe brings it."""
        return work

    def events(self, patience: float) -> list[Event]:
        """What replicas have reported; a pipe brings it before the result that it belongs to."""
        return [self._events.get() for _ in range(self._events.qsize())]

    def is_loss(self, error: BaseException) -> bool:
        """Whether the replica's process died, rather than the work failed."""
        return isinstance(error, ReplicaDied)

    def check(self) -> None:
        """This machine is always there."""

    def close(self, processes: Sequence[LocalProcess]) -> None:
        """End all processes: at once those that have nothing to do."""
        for process in processes:
            process.leave()
        until = time.monotonic() + _LEAVE_SECONDS
        for process in processes:
            process.end(until)


class ReplicaDied(Exception):
    """A replica's process ended while it was asked for something."""


class LocalProcess:
    """A replica's process, and the thread that asks it for one thing after another."""

    def __init__(self, events: SimpleQueue[Event], gpus: list[str]) -> None:
        """Start it. `events` receives what it reports; `gpus`: those of its own, if it has any."""
        self._events = events
        self._pipe, theirs = _processes.Pipe()
        self._process = _processes.Process(target=_serve, args=(theirs, gpus))
        self._process.start()
        theirs.close()
        self._asking = ThreadPoolExecutor(1, "replica")

    def start(self, work: Work[Any, Any], folder: str) -> Future[Opened]:
        """Open `work` in `folder`."""
        return self._asking.submit(self._ask, (work, folder))

    def do(self, item: Any) -> Future[Any]:
        """The result of one item."""
        return self._asking.submit(self._ask, (item,))

    def leave(self) -> None:
        """Ask it to end when it has done what it was asked for."""
        self._asking.submit(self._ask, None)
        self._asking.shutdown(wait=False)

    def end(self, until: float) -> None:
        """End it and what it has started, whatever it does, where it has not ended at the time `until`."""
        self._process.join(max(0.0, until - time.monotonic()))
        assert self._process.pid is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join(_END_SECONDS)

    def _ask(self, question: tuple[Any, ...] | None) -> Any:
        try:
            self._pipe.send(question)
            while isinstance(answer := self._pipe.recv(), Event):
                self._events.put(answer)
        except (EOFError, OSError) as error:
            self._process.join(_END_SECONDS)
            raise ReplicaDied(f"its process ended (exit code {self._process.exitcode})") from error
        result, raised = answer
        if raised is not None:
            raise raised
        return result


def _visible_gpus() -> list[str]:
    """Those that this process may see."""
    if (named := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [gpu for gpu in named.split(",") if gpu]
    import torch

    return [str(number) for number in range(torch.cuda.device_count())]


def _shares(gpus: list[str], replicas: int, each: float) -> list[list[str]]:
    """The GPUs of each replica: `each` of its own, or one that it shares with others. Raises RunError."""
    most = len(gpus) * int(1 / each + 1e-6) if each <= 1 else int(len(gpus) / each)
    if most < replicas:
        raise RunError(
            what=f"{replicas} replicas need {each:g} GPUs each: this machine has {len(gpus)} GPUs, enough for {most}",
            where="scale.gpus_per_replica",
            hint="lower it or scale.replicas, or name the address of a Ray cluster that has more",
        )
    if each < 1:
        together = int(1 / each + 1e-6)
        return [gpus[number // together : number // together + 1] for number in range(replicas)]
    return [gpus[number * int(each) : (number + 1) * int(each)] for number in range(replicas)]


def _serve(pipe: Connection, gpus: list[str]) -> None:
    """In the replica's process: answer until the worker is gone. A group of its own: the worker alone obeys Ctrl+C."""
    os.setpgrp()
    if gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
    sending = Lock()

    def send(answer: Any) -> None:
        with sending:
            pipe.send(answer)

    replica = Replica(send)
    with suppress(EOFError, OSError):
        while (question := pipe.recv()) is not None:
            send(_answer(replica, question, gpus))


def _answer(replica: Replica, asked: tuple[Any, ...], gpus: list[str]) -> tuple[Any, BaseException | None]:
    """(result, what was raised)."""
    try:
        if len(asked) == 1:
            return replica.do(asked[0]), None
        work, folder = asked
        os.chdir(folder)
        return replica.open(work, gpus), None
    except BaseException as error:
        raised = error if _travels(error) else RuntimeError(f"{type(error).__name__}: {error}")
        raised.add_note("".join(traceback.format_exception(error)))
        return None, raised


def _travels(error: BaseException) -> bool:
    """Whether the worker can read it."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return False
    return True
