"""How the rank processes start and meet: started by the leader on its machine, or all by torchrun."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import torch
from torch._C._distributed_c10d import Store, TCPStore
from torch.distributed.rendezvous import rendezvous

from engine.config.gflownet import GFlowNetSection
from engine.gflownet.training.rank_meeting import call_all
from engine.gflownet.training.rank_processes import RankProcesses
from engine.gflownet.training.ranks import Alone, RanksFailed, Together

START_TIMEOUT = timedelta(minutes=10)
_LOOK_EVERY = 0.1
_LOOPBACK = "lo" if sys.platform == "linux" else "lo0"


def under_torchrun() -> bool:
    """Whether torchrun started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def meeting_place() -> Store:
    """The store that MASTER_ADDR and MASTER_PORT name. Raises RanksFailed."""
    try:
        return next(rendezvous("env://", timeout=START_TIMEOUT))[0]
    except (RuntimeError, ValueError) as error:
        raise RanksFailed(
            what=f"cannot reach the other processes: {str(error).splitlines()[0]}",
            where=f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}",
            mend="start all of them with torchrun and the same --rdzv-endpoint",
        ) from error


@contextmanager
def on_device(kind: str) -> Iterator[torch.device]:
    """The CPU, or this process's own GPU with algorithms that give the same sum every time. Raises RanksFailed
    where there is none."""
    if kind == "cpu":
        yield torch.device("cpu")
        return
    number = int(os.environ.get("LOCAL_RANK", "0"))
    if number >= torch.cuda.device_count():
        raise RanksFailed(
            what=f"a process wants GPU {number}, there are {torch.cuda.device_count()}",
            where="gflownet.device",
            mend="one process a GPU: fewer gflownet.processes, or gflownet.device: cpu",
        )
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled()
    torch.cuda.set_device(number)
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield torch.device("cuda", number)
    finally:
        torch.use_deterministic_algorithms(before)


@contextmanager
def leading(
    run_dir: Path, section: GFlowNetSection, checkpoint: Callable[[], None]
) -> Iterator[Alone | Together]:
    """The rank processes, seen from rank 0: started, met, and ended on exit. `checkpoint` is called while rank 0
    waits for them. Raises RanksFailed."""
    with on_device(section.device) as device:
        if under_torchrun():
            with _together(meeting_place(), int(os.environ["WORLD_SIZE"]), device, None, checkpoint) as ranks:
                yield ranks
        elif section.processes == 1:
            yield Alone(device)
        else:
            processes = RankProcesses(run_dir, section.processes)
            with _loopback_alone(), _own(processes, section.processes, device, checkpoint) as ranks:
                yield ranks


@contextmanager
def _own(
    processes: RankProcesses, size: int, device: torch.device, checkpoint: Callable[[], None]
) -> Iterator[Together]:
    listener = socket.create_server(("127.0.0.1", 0), backlog=size)
    port = listener.getsockname()[1]
    store = TCPStore(
        "127.0.0.1",
        port,
        is_master=True,
        wait_for_workers=False,
        timeout=START_TIMEOUT,
        master_listen_fd=listener.detach(),  # by default it would listen to the network
    )
    try:
        processes.start(port)
        with _together(store, size, device, processes, checkpoint) as ranks, _watched(processes, ranks):
            yield ranks
        processes.let_go()
    finally:
        processes.stop()


@contextmanager
def _together(
    store: Store,
    size: int,
    device: torch.device,
    processes: RankProcesses | None,
    checkpoint: Callable[[], None],
) -> Iterator[Together]:
    until = time.monotonic() + START_TIMEOUT.total_seconds()

    def look() -> None:
        if processes is not None and (failure := processes.failure()):
            raise failure
        if time.monotonic() > until:
            raise RanksFailed(what="not all processes of the training came", mend="see their logs")
        checkpoint()

    ranks = Together(call_all(store, size, look), 0, size, device, processes and processes.cause)
    try:
        yield ranks
    finally:
        ranks.close()


@contextmanager
def _watched(processes: RankProcesses, ranks: Together) -> Iterator[None]:
    """Abort operations that wait for a process that ended: a GPU would wait for ten minutes."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_LOOK_EVERY):
            if processes.failure():
                ranks.abort()
                return

    thread = threading.Thread(target=watch, name="ranks", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def _loopback_alone() -> Iterator[None]:
    """Have gloo and nccl, in this process and its children, listen on the loopback interface only."""
    names = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, _LOOPBACK))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
