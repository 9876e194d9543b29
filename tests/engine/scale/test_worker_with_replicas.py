"""A worker whose stages run over replicas, on this machine and on a Ray cluster: stopped, killed, resumed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from app.runs.client import prepare_resume, start_worker
from engine import events as ev
from engine.config.file import load_config
from engine.config.scale import ScaleSection
from engine.errors import ConfigError, RunError
from engine.lm.loading.load import load_model
from engine.run.directory import RunDirectory
from engine.run.event_log import LogReader
from engine.run.worker import run_worker
from engine.scale import cluster
from engine.scale.cluster import Cluster
from engine.scale.local_processes import LocalBackend
from engine.scale.spread import ReplicaSpread
from engine.scale.work import WorkContext
from tests.engine.scale.processes import descendants, living
from tests.engine.scale.ray_head import ray_head
from tests.engine.scale.works import Folder
from tests.exactly import exactly
from tests.kill_and_resume import DEMO, artefacts, prepared, run_whole

SMALL = ("run.stages=[mine]", "task.train_size=48", "offline_mine.K=4", "offline_mine.batch_size_examples=2")
Wait = Callable[..., None]


def events(run: RunDirectory) -> list[ev.Event]:
    return [entry.event for entries in iter(LogReader(run.events).poll, []) for entry in entries]


def decided(run: RunDirectory) -> int:
    return sum(isinstance(event, ev.RolloutsMined) for event in events(run))


def started(run: RunDirectory) -> int:
    return sum(isinstance(event, ev.ReplicaStarted) for event in events(run))


def nowhere() -> WorkContext:
    """Where nobody listens."""
    return WorkContext(load_model, lambda: None, lambda event: None)


@contextmanager
def handled(number: signal.Signals, handler: Callable[[int], None]) -> Iterator[None]:
    before = signal.signal(number, lambda number, frame: handler(number))
    try:
        yield
    finally:
        signal.signal(number, before)


def end(worker: subprocess.Popen[bytes], how: signal.Signals, wait: Wait) -> None:
    """Send the signal; nothing that the worker started may be left."""
    family = descendants(worker.pid)
    worker.send_signal(how)
    worker.wait(60)
    wait(lambda: not living(family), "a replica is left", 60)


@pytest.mark.ray
@pytest.mark.parametrize("place", ["local", "ray"])
def test_a_run_stopped_and_killed_with_replicas_ends_as_one_process_ends_it(
    place: str, tmp_path: Path, wait_until: Wait
) -> None:
    with ExitStack() as stack:
        scale = {"replicas": 2} | (
            {} if place == "local" else {"address": stack.enter_context(ray_head())[0]}
        )
        whole, run = prepared(tmp_path, "whole", SMALL), prepared(tmp_path, place, (*SMALL, f"scale={scale}"))
        assert run_worker(whole.path) == 0
        worker = start_worker(run)
        wait_until(
            lambda: decided(run) >= 3 and started(run) == 2, "both replicas and the first examples", 120
        )
        end(worker, signal.SIGTERM, wait_until)
        assert worker.returncode == 130
        said = run.worker_log.read_text()
        assert not any(word in said for word in ("Traceback", "leaked", "SIGTERM"))
        prepare_resume(run, None)
        before, worker = decided(run), start_worker(run)
        assert before < 48
        wait_until(lambda: decided(run) >= before + 3, "the next examples", 120)
        end(worker, signal.SIGKILL, wait_until)
        prepare_resume(run, None)
        run_whole(run)
        assert artefacts(run) == artefacts(whole)


@pytest.mark.ray
def test_a_cluster_is_joined_and_left_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It wants a token, of which those who join it were not told, and was started in another folder."""
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    came: list[int] = []
    with ray_head() as (address, _), handled(signal.SIGTERM, came.append):
        monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
        monkeypatch.chdir(tmp_path)
        scale = f"scale={{replicas: 2, address: '{address}'}}"
        run = prepared(tmp_path, "joins", (*SMALL, "task.train_size=8", scale))
        for _ in range(2):
            run_whole(run)
        (joined,) = [event for event in events(run) if isinstance(event, ev.ClusterJoined)]
        assert (joined.engine, joined.address, joined.replicas) == ("ray", address, 2)
        assert any(isinstance(event, ev.ReplicaStarted) for event in events(run))
        spread = ReplicaSpread(ScaleSection(address=address))
        try:
            assert list(spread(Folder(), nowhere())([1])) == [str(tmp_path)]
            signal.raise_signal(signal.SIGTERM)
            seconds_left = signal.alarm(0)  # Ray's own handler sets an alarm, which ends the process
            assert (came, seconds_left) == ([signal.SIGTERM], 0)
        finally:
            spread.close()


def test_a_head_that_answers_no_more_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_CHECK_EVERY", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        joined = Cluster("auto", f"127.0.0.1:{server.getsockname()[1]}")
        joined.check()
    joined.check()  # once may be chance
    monkeypatch.setattr(cluster, "_LOST_AFTER", 0.0)
    with pytest.raises(RunError, match="the Ray cluster at auto is gone") as raised:
        joined.check()
    assert "resume" in raised.value.hint


@pytest.mark.parametrize(
    ("visible", "replicas", "each", "shares"),
    [
        ("0,1,2,3", 2, 2.0, [["0", "1"], ["2", "3"]]),
        ("5,7", 2, 1.0, [["5"], ["7"]]),
        ("5,7", 4, 0.5, [["5"], ["5"], ["7"], ["7"]]),
        ("5,7", 3, 0.4, [["5"], ["5"], ["7"]]),
    ],
)
def test_replicas_on_this_machine_share_its_gpus(
    visible: str, replicas: int, each: float, shares: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    backend = LocalBackend(ScaleSection(replicas=replicas, gpus_per_replica=each))
    assert backend._gpus == shares


@pytest.mark.parametrize(("replicas", "each", "enough"), [(3, 0.5, 2), (2, 1.0, 1), (1, 2.0, 0)])
def test_gpus_that_are_not_there_are_not_waited_for(
    replicas: int, each: float, enough: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    text = (
        f"{replicas} replicas need {each:g} GPUs each: this machine has 1 GPUs, enough for {enough} "
        "(scale.gpus_per_replica): lower it or scale.replicas, or name the address of a Ray cluster that has more"
    )
    with pytest.raises(RunError, match=exactly(text)):
        LocalBackend(ScaleSection(replicas=replicas, gpus_per_replica=each))


@pytest.mark.ray
def test_a_stop_is_obeyed_while_something_that_is_no_cluster_is_asked(
    tmp_path: Path, wait_until: Wait
) -> None:
    """Ray would wait for minutes, and end the worker at the signal as if it had been killed."""
    asked: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as mute:
        mute.setblocking(False)

        def is_asked() -> bool:
            with suppress(BlockingIOError):
                asked.append(mute.accept()[0])
            return len(asked) > 1  # the first only looks whether somebody answers

        address = f"127.0.0.1:{mute.getsockname()[1]}"
        run = prepared(tmp_path, "mute", (*SMALL, f"scale={{address: '{address}'}}"))
        worker = start_worker(run)
        wait_until(is_asked, "Ray asks", 60)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 130
    assert run.read().status == "stopped"


@pytest.mark.ray
def test_no_cluster_at_the_address_is_said_at_once() -> None:
    with pytest.raises(RunError, match=r"no Ray cluster can be joined at 127\.0\.0\.1:9") as raised:
        Cluster.join("127.0.0.1:9", lambda: None)
    assert raised.value.where == "scale.address" and "ray start" in raised.value.hint
    assert "RAY_AUTH_TOKEN" not in os.environ


def test_without_ray_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    text = (
        "Ray is not installed (scale.address): run pip install 'steer-tui[ray]', or leave `scale.address` out: "
        "replicas then work on this machine"
    )
    with pytest.raises(RunError, match=exactly(text)):
        Cluster.join("auto", lambda: None)


@pytest.mark.parametrize(
    ("scale", "words"),
    [
        ("{address: here}", "host:port"),
        ("{address: 'http://a:1'}", "host:port"),
        ("{replicas: 0}", "replicas"),
        ("{gpus_per_replica: -1}", "gpus_per_replica"),
        ("{gpus_per_replica: 1.5}", "a whole number of GPUs"),
        ("{gpus_per_replica: 0.00005}", "a multiple of 0.0001"),
        ("{engine: ray}", "engine is local and can no longer be set: leave it out; to use a Ray cluster"),
        ("{dashboard: true}", "dashboard is False and can no longer be set"),
    ],
)
def test_a_wrong_section_is_said(scale: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load_config(DEMO, [f"scale={scale}"])


@pytest.mark.parametrize("address", ["auto", "10.0.0.7:6379", "ray://head.example.org:10001"])
def test_addresses_of_clusters(address: str) -> None:
    config = load_config(DEMO, [f"scale={{replicas: 3, gpus_per_replica: 0.5, address: '{address}'}}"])
    assert (config.scale.address, config.scale.gpus_per_replica) == (address, 0.5)


@pytest.mark.parametrize("gpus", [0.0, 0.0001, 0.1234, 1.0, 8.0])
def test_shares_of_gpus(gpus: float) -> None:
    assert load_config(DEMO, [f"scale.gpus_per_replica={gpus}"]).scale.gpus_per_replica == gpus
