"""A worker whose stages run over Ray: stopped, killed, resumed; on a cluster of its own and on one that is there."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
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
from engine.run.gate import StopRequested
from engine.run.worker import run_worker
from engine.scale import cluster
from engine.scale.cluster import Cluster, StartedCluster
from engine.scale.spread import RaySpread
from engine.scale.work import WorkContext
from tests.engine.scale.processes import descendants, living
from tests.engine.scale.works import LAST_WORDS, Fails, Folder
from tests.kill_and_resume import DEMO, artefacts, prepared, run_whole

SMALL = ("run.stages=[mine]", "task.train_size=96", "offline_mine.K=4", "offline_mine.batch_size_examples=2")
RAY = ("scale={engine: ray, replicas: 2}",)
Wait = Callable[..., None]


def events(run: RunDirectory) -> list[ev.Event]:
    return [entry.event for entries in iter(LogReader(run.events).poll, []) for entry in entries]


def decided(run: RunDirectory) -> int:
    return sum(isinstance(event, ev.RolloutsMined) for event in events(run))


def nowhere() -> WorkContext:
    """Where nobody listens."""
    return WorkContext(load_model, lambda: None, lambda event: None)


def end(worker: subprocess.Popen[bytes], how: signal.Signals, wait: Wait) -> None:
    """Send the signal; nothing that the worker started may be left."""
    family = descendants(worker.pid)
    assert len(family) > 5, "no cluster was started"
    worker.send_signal(how)
    worker.wait(60)
    wait(lambda: not living(family), "a process of Ray is left")


@pytest.mark.ray
def test_a_run_stopped_and_killed_over_ray_ends_as_one_process_ends_it(
    tmp_path: Path, wait_until: Wait
) -> None:
    whole, run = prepared(tmp_path, "whole", SMALL), prepared(tmp_path, "ray", (*SMALL, *RAY))
    assert run_worker(whole.path) == 0
    worker = start_worker(run)
    wait_until(lambda: decided(run) >= 3, "the first examples", 120)
    end(worker, signal.SIGTERM, wait_until)
    assert worker.returncode == 130
    prepare_resume(run, None)
    before, worker = decided(run), start_worker(run)
    assert before < 96
    wait_until(lambda: decided(run) >= before + 3, "the next examples", 120)
    end(worker, signal.SIGKILL, wait_until)
    prepare_resume(run, None)
    run_whole(run)
    assert artefacts(run) == artefacts(whole)
    assert list((run.path / "scale").iterdir()) == [run.path / "scale/ray.log"]


@pytest.mark.ray
def test_a_cluster_that_is_there_is_joined_and_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where temporary files have long names, as on macOS: Ray's sockets lie among its own. It wants a token, of
    which those who join it were not told, and was started in another folder."""
    long = tmp_path / "T" / ("long" * 20)
    long.mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(long))
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    own = StartedCluster(tmp_path / "theirs")
    try:
        address = own.start(ScaleSection(engine="ray", replicas=2), lambda: None)
        monkeypatch.delenv("RAY_AUTH_MODE")
        monkeypatch.chdir(tmp_path)
        run = prepared(
            tmp_path,
            "joins",
            (*SMALL, "task.train_size=8", f"scale={{engine: ray, replicas: 2, address: '{address}'}}"),
        )
        for _ in range(2):
            run_whole(run)
        (joined,) = [event for event in events(run) if isinstance(event, ev.ClusterJoined)]
        assert (joined.address, joined.own) == (address, False)
        assert any(isinstance(event, ev.ReplicaStarted) for event in events(run))
        assert own.running
        spread = RaySpread(ScaleSection(engine="ray", address=address), tmp_path)
        try:
            assert list(spread(Folder(), nowhere())([1])) == [str(tmp_path)]
        finally:
            spread.close()
    finally:
        own.stop()


@pytest.mark.ray
def test_a_stop_while_a_cluster_starts_leaves_nothing(tmp_path: Path) -> None:
    def checkpoint() -> None:
        raise StopRequested

    with pytest.raises(StopRequested):
        Cluster.join(ScaleSection(engine="ray"), tmp_path, checkpoint)
    assert [path.name for path in tmp_path.iterdir()] == ["ray.log"]


@pytest.mark.ray
def test_a_cluster_that_ends_is_told_of(tmp_path: Path, wait_until: Wait) -> None:
    """By the death of its guardian. Ray says nothing for a minute, then ends the worker."""
    run = prepared(tmp_path, "lost", (*SMALL, "task.train_size=400", *RAY))
    worker = start_worker(run)
    wait_until(lambda: decided(run) >= 1, "the first example", 120)
    family = descendants(worker.pid)
    (guardian,) = [pid for pid in family if b"guardian.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(guardian, signal.SIGKILL)
    assert worker.wait(60) == 2
    failure = run.read().failure
    assert "the Ray cluster at 127.0.0.1" in failure and "is gone" in failure and "resume" in failure
    wait_until(lambda: not living(family), "a process of Ray is left")


def test_a_head_that_answers_no_more_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_CHECK_EVERY", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        joined = Cluster("auto", None, head=f"127.0.0.1:{server.getsockname()[1]}")
        joined.check()
    joined.check()  # once may be chance
    monkeypatch.setattr(cluster, "_LOST_AFTER", 0.0)
    with pytest.raises(RunError, match="the Ray cluster at auto is gone") as raised:
        joined.check()
    assert "resume" in raised.value.hint


@pytest.mark.ray
def test_what_replicas_wrote_before_they_died_is_kept(tmp_path: Path) -> None:
    spread = RaySpread(ScaleSection(engine="ray", replicas=1), tmp_path)
    try:
        with pytest.raises(RunError, match=r"same item .*scale/ray\.log"):
            list(spread(Fails("kill"), nowhere())(range(9)))
    finally:
        spread.close()
    assert LAST_WORDS in (tmp_path / "ray.log").read_text()


@pytest.mark.ray
def test_gpus_that_are_not_there_are_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    section = ScaleSection(engine="ray", replicas=3, gpus_per_replica=0.5)
    with pytest.raises(RunError, match="this machine has 0 GPUs, enough for 0") as raised:
        Cluster.join(section, tmp_path, lambda: None)
    assert raised.value.where == "scale.gpus_per_replica"
    assert [path.name for path in tmp_path.iterdir()] == ["ray.log"]


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
        run = prepared(tmp_path, "mute", (*SMALL, f"scale={{engine: ray, address: '{address}'}}"))
        worker = start_worker(run)
        wait_until(is_asked, "Ray asks", 60)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 130
    assert run.read().status == "stopped"


@pytest.mark.ray
def test_no_cluster_at_the_address_is_said_at_once(tmp_path: Path) -> None:
    section = ScaleSection(engine="ray", replicas=2, address="127.0.0.1:9")
    with pytest.raises(RunError, match=r"no Ray cluster can be joined at 127\.0\.0\.1:9") as raised:
        Cluster.join(section, tmp_path, lambda: None)
    assert raised.value.where == "scale.address" and "ray start" in raised.value.hint
    assert "RAY_AUTH_TOKEN" not in os.environ


def test_a_cluster_that_does_not_start_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(RunError, match="Ray did not start") as raised:
        Cluster.join(ScaleSection(engine="ray"), tmp_path / "scale", lambda: None)
    assert raised.value.where.endswith("scale/ray.log")
    assert list((tmp_path / "scale").iterdir()) == [tmp_path / "scale/ray.log"]


def test_without_ray_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(RunError, match="Ray is not installed") as raised:
        Cluster.join(ScaleSection(engine="ray"), tmp_path, lambda: None)
    assert raised.value.where == "scale.engine" and "steer-tui[ray]" in raised.value.hint


@pytest.mark.parametrize(
    ("scale", "words"),
    [
        ("{replicas: 2}", "for engine `ray`"),
        ("{address: auto}", "for engine `ray`"),
        ("{engine: ray, address: here}", "host:port"),
        ("{engine: ray, address: 'http://a:1'}", "host:port"),
        ("{engine: ray, replicas: 0}", "replicas"),
        ("{engine: ray, gpus_per_replica: -1}", "gpus_per_replica"),
        ("{engine: ray, gpus_per_replica: 1.5}", "a whole number of GPUs"),
        ("{engine: ray, gpus_per_replica: 0.00005}", "a multiple of 0.0001"),
        ("{gpus_per_replica: 1}", "for engine `ray`"),
        (
            "{engine: ray, dashboard: true}",
            "dashboard is False and can no longer be set: leave it out, or name by",
        ),
        ("{engine: dask}", "scale.engine"),
    ],
)
def test_a_wrong_section_is_said(scale: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load_config(DEMO, [f"scale={scale}"])


@pytest.mark.parametrize("address", ["auto", "10.0.0.7:6379", "ray://head.example.org:10001"])
def test_addresses_of_clusters(address: str) -> None:
    config = load_config(
        DEMO, [f"scale={{engine: ray, replicas: 3, gpus_per_replica: 0.5, address: '{address}'}}"]
    )
    assert (config.scale.address, config.scale.gpus_per_replica) == (address, 0.5)
