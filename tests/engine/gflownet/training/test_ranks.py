"""Training by several processes: the same files as by one, and what happens when a process dies."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from torch._C._distributed_c10d import Store

from app.runs.client import prepare_resume, send, start_worker
from engine.__main__ import main
from engine.config.config import Config
from engine.config.file import dump_config
from engine.errors import SteerError
from engine.events import Event, Notice
from engine.gflownet import layout
from engine.gflownet.sampler.module import Losses
from engine.gflownet.training import rank_meeting, rank_start, ranks
from engine.gflownet.training.gflownet_stage import TrainGFlowNet
from engine.gflownet.training.ranks import RanksFailed
from engine.gflownet.training.step_worker import StepWorker
from engine.run.directory import RunDirectory
from engine.run.gate import StopRequested
from engine.run.stage import StageContext
from tests.engine.gflownet.small_run import run_stages, small_config
from tests.kill_and_resume import SMALL_GFLOWNET, artefacts, prepared, run_whole

PARTS = 3
PATIENCE = 120.0


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    run_stages(folder, ("graphs", "retriever", "agent-graphs"))
    return folder


def config_of(processes: int) -> Config:
    return small_config(
        gflownet={
            "processes": processes,
            "parts": PARTS,
            "policy": {"hidden": 16, "dropout": 0.1},
            "estimator": {"log_pb_mode": "learned"},
        }
    )


def run_directory(data: Path, folder: Path, config: Config) -> RunDirectory:
    (folder / "gflownet").mkdir(parents=True)
    for path in (data / "gflownet").iterdir():
        (folder / "gflownet" / path.name).symlink_to(path)
    run = RunDirectory(folder)
    run.config.write_text(dump_config(config))
    return run


def train(run: RunDirectory, config: Config, checkpoint: Callable[[], None] = lambda: None) -> list[Event]:
    events: list[Event] = []
    context = StageContext("gflownet", config, run.path, events.append, checkpoint, None)  # type: ignore[arg-type]
    TrainGFlowNet().run(context)
    return events


def test_two_processes_stopped_and_gone_on_with_by_one_equal_one(data: Path, tmp_path: Path):
    """The same cut, so bit by bit; rank 0 has two parts of three, and three are drawn by dropout."""
    whole = run_directory(data, tmp_path / "whole", config_of(1))
    train(whole, config_of(1))
    shared = run_directory(data, tmp_path / "shared", config_of(2))
    calls = [0]

    def checkpoint() -> None:
        calls[0] += layout.training_log(shared.path).exists()
        if calls[0] == 12:
            raise StopRequested

    with pytest.raises(StopRequested):
        train(shared, config_of(2), checkpoint)
    assert ranks_of(shared) == []
    stopped_at = len(layout.training_log(shared.path).read_text().splitlines())
    assert 0 < stopped_at < 8, "it was stopped on the way"
    train(shared, config_of(1))
    assert artefacts(shared) == artefacts(whole)
    assert "gflownet/gflownet.pt" in artefacts(whole)


def test_a_process_that_cannot_start_is_named(data: Path, tmp_path: Path):
    run = run_directory(data, tmp_path / "run", config_of(2))
    run.config.write_text("gflownet: {steps: nonsense}\n")
    with pytest.raises(RanksFailed, match=r"rank 1 of the training ended \(exit code 2.*steps"):
        train(run, config_of(2))
    assert ranks_of(run) == []


def test_a_stop_while_the_others_start_leaves_nobody(data: Path, tmp_path: Path):
    run = run_directory(data, tmp_path / "run", config_of(3))

    def checkpoint() -> None:
        raise StopRequested

    with pytest.raises(StopRequested):
        train(run, config_of(3), checkpoint)
    assert ranks_of(run) == []


def test_what_fails_in_the_middle_of_a_step_is_told_at_once(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The others wait for rank 0's share then, for ten minutes if they are let: not for a command."""
    run = run_directory(data, tmp_path / "run", config_of(2))
    losses = StepWorker._losses

    def failing(self: StepWorker, step: int, part: int, numbers: Sequence[int]) -> Losses:
        if step == 3:
            raise MemoryError("the device's memory is full")
        return losses(self, step, part, numbers)

    commands: list[int] = []
    command = ranks.Together._command
    monkeypatch.setattr(StepWorker, "_losses", failing)
    monkeypatch.setattr(
        ranks.Together, "_command", lambda self, step: commands.append(step) or command(self, step)
    )
    with pytest.raises(MemoryError):
        train(run, config_of(2))
    assert commands == [0, 1, 2, 3], "a command that nobody hears"
    assert ranks_of(run) == []


def test_a_process_that_dies_when_all_meet_is_named(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ranks, "MEETING_TIMEOUT", timedelta(seconds=3))
    run = run_directory(data, tmp_path / "run", config_of(2))

    def call_all(*arguments: Any) -> Store:
        store = rank_meeting.call_all(*arguments)
        os.kill(ranks_of(run)[0], signal.SIGKILL)
        return store

    monkeypatch.setattr(rank_start, "call_all", call_all)
    with pytest.raises(RanksFailed, match=r"rank 1 of the training ended \(exit code 137"):
        train(run, config_of(2))
    assert ranks_of(run) == []


def test_more_gpus_than_there_are_is_an_error(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LOCAL_RANK", "99")
    config = small_config(gflownet={"device": "cuda"})
    with pytest.raises(SteerError, match=r"wants GPU 99, there are \d+ \(gflownet\.device\)"):
        train(run_directory(data, tmp_path / "run", config), config)


LONG = (*SMALL_GFLOWNET, "gflownet.steps=120", f"gflownet.parts={PARTS}")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """By one process, from the first stage to the last."""
    run = prepared(tmp_path_factory.mktemp("outputs"), "whole", LONG)
    run_whole(run)
    return run


@pytest.fixture
def started() -> Iterator[Callable[[RunDirectory], subprocess.Popen[bytes]]]:
    """Starts workers, none of which outlives the test."""
    workers: list[subprocess.Popen[bytes]] = []

    def start(run: RunDirectory) -> subprocess.Popen[bytes]:
        workers.append(start_worker(run))
        return workers[-1]

    yield start
    for worker in workers:
        worker.kill()
        worker.wait()


@pytest.mark.slow
def test_kills_of_worker_and_rank_end_the_others_and_lose_nothing(
    whole: RunDirectory, tmp_path: Path, started: Callable[[RunDirectory], subprocess.Popen[bytes]]
):
    run = prepared(tmp_path, "killed", (*LONG, "gflownet.processes=2"))
    worker = started(run)
    wait_for(lambda: steps_of(run) >= 5, worker)
    ranks = ranks_of(run)
    assert len(ranks) == 1
    for pid in (worker.pid, *ranks):
        assert listening(pid) <= {"127.0.0.1"}, "nothing listens to the network"
    assert send(run, "pause").ok
    wait_for(lambda: send(run, "status").status["state"] == "paused", worker)
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    wait_for(lambda: not any(map(alive, ranks)))

    prepare_resume(run)
    worker, before = started(run), steps_of(run)
    wait_for(lambda: steps_of(run) > before, worker)
    os.kill(ranks_of(run)[-1], signal.SIGKILL)
    began = time.monotonic()
    assert worker.wait(PATIENCE) == 2
    assert time.monotonic() - began < 30
    assert ranks_of(run) == []
    failure = run.read().failure
    assert "rank 1 of the training ended (exit code 137: ended by SIGKILL)" in failure
    assert "resume to go on from the last checkpoint" in failure

    prepare_resume(run)
    run_whole(run)
    assert artefacts(run) == artefacts(whole)


@pytest.mark.slow
def test_two_machines_by_torchrun_equal_one_process(whole: RunDirectory, tmp_path: Path):
    """Two agents on this machine, as they would run on two."""
    run = prepared(tmp_path, "torchrun", LONG)
    port = free_port()
    agents = [torchrun(run, port) for _ in range(2)]
    try:
        assert [agent.wait(PATIENCE) for agent in agents] == [0, 0]
    finally:
        for agent in agents:
            agent.terminate()
    assert artefacts(run) == artefacts(whole)
    notices = [line for line in run.events.read_text().splitlines() if Notice.__name__ in line]
    assert any("2 processes on cpu train on 3 parts" in line for line in notices)


def test_join_outside_of_a_training_says_who_starts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("RANK", raising=False)
    assert main(["join", str(tmp_path)]) == 2
    assert "torchrun starts this" in caplog.text


def torchrun(run: RunDirectory, port: int) -> subprocess.Popen[bytes]:
    rendezvous = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", "test"]
    here = ["--nnodes", "2", "--nproc-per-node", "1", "--local-addr", "127.0.0.1"]
    join = ["-m", "engine", "join", str(run.path)]
    command = [sys.executable, "-m", "torch.distributed.run", *here, *rendezvous, *join]
    env = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    return subprocess.Popen(command, env=env)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def steps_of(run: RunDirectory) -> int:
    """Logged training steps."""
    log = layout.training_log(run.path)
    return len(log.read_bytes().splitlines()) if log.exists() else 0


def ranks_of(run: RunDirectory) -> list[int]:
    """Processes that follow in this run, by rank: not their guardians."""
    found: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (folder / "cmdline").read_bytes().split(b"\0")
            environment = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        own = arguments[1:5] == [b"-P", b"-m", b"engine", b"join"]
        if own and os.fsencode(run.path.absolute()) in arguments:
            rank = next(entry for entry in environment if entry.startswith(b"RANK="))
            found[int(rank[5:])] = int(folder.name)
    return [found[rank] for rank in sorted(found)]


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}/cmdline").exists() and bool(Path(f"/proc/{pid}/cmdline").read_bytes())


def listening(pid: int) -> set[str]:
    """Addresses at which a process listens."""
    inodes = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes.add(os.readlink(link))
        except OSError:
            continue
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                host = fields[1].partition(":")[0]
                found.add("127.0.0.1" if host == "0100007F" else host)
    return found


def wait_for(condition: Callable[[], bool], worker: subprocess.Popen[bytes] | None = None) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert worker is None or worker.poll() is None, "the worker ended"
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.02)
