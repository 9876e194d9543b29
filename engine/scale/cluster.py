"""The Ray cluster that replicas run on: an existing one is joined, or one is started here and ended with the run."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.config.scale import ScaleSection
from engine.errors import RunError, first_line
from engine.processes.server_process import ServerProcess
from engine.scale.local_head import HOST, stay_on_this_host

_FOLDER_PREFIX = "steer-ray-"
_START_SECONDS = 120.0
_CONNECT_SECONDS = 60.0
_REACH_SECONDS = 5.0
_CHECK_EVERY = 1.0
_LOST_AFTER = 20.0
"""Seconds without an answer."""
_GRACE = 1.0
_KEPT_LETTERS = 10_000
_LONGEST_FOLDER = 18
"""Letters. Ray appends 85 to a socket's name, of which there may be 103 (macOS)."""
_POLL_EVERY = 0.05


@dataclass
class Cluster:
    """A joined cluster. `started`: the cluster, if it was started here. `head`: host and port that answer as long as
    the cluster runs."""

    address: str
    started: StartedCluster | None
    head: str = ""
    _checked: float = 0.0
    _missed_since: float | None = None

    @classmethod
    def join(cls, section: ScaleSection, folder: Path, checkpoint: Callable[[], None]) -> Cluster:
        """Join the configured cluster, or start one that keeps its log in `folder`. `checkpoint` may block or raise
        meanwhile. Raises RunError."""
        _require_ray()
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        if section.address is not None:
            return cls(section.address, None, _connect(section.address, checkpoint))
        cluster = cls("", StartedCluster(folder))
        try:
            cluster._start(section, checkpoint)
        except BaseException:
            cluster.leave()
            raise
        return cluster

    def _start(self, section: ScaleSection, checkpoint: Callable[[], None]) -> None:
        assert self.started is not None
        self.address = self.started.start(section, checkpoint)
        # No checkpoint: where a cluster ends while Ray connects to it, Ray ends this process, too.
        self.head = _connect(self.address, lambda: None)
        _require_room(section)

    def check(self) -> None:
        """Raises RunError if the cluster is lost: Ray would end this process a minute later, without a message."""
        now = time.monotonic()
        if now - self._checked < _CHECK_EVERY:
            return
        self._checked = now
        if self.answers:
            self._missed_since = None
            return
        self._missed_since = self._missed_since or now
        ended = self.started is not None and not self.started.running
        if ended or now - self._missed_since > _LOST_AFTER:
            raise RunError(
                what=f"the Ray cluster at {self.address} is gone",
                where="scale" if self.started is None else str(self.started.log),
                hint="resume when it runs again"
                if self.started is None
                else "resume: another cluster is started",
            )

    @property
    def answers(self) -> bool:
        """Whether the cluster has been joined and its head answers now."""
        return bool(self.head) and (self.started is None or self.started.running) and _is_reached(self.head)

    def leave(self) -> None:
        """Disconnect, and end the cluster if it was started here."""
        import ray

        if self.answers:  # else Ray would wait for the cluster, or end this process
            with suppress(Exception):
                ray.shutdown()
        if self.started is not None:
            self.started.stop()


class StartedCluster:
    """A cluster started here, under a guardian process: it ends with this process, however that ends."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "ray.log"
        self._link = folder / "ray"
        self._process = ServerProcess(self.log, _GRACE)
        self._folder: Path | None = None

    def start(self, section: ScaleSection, checkpoint: Callable[[], None]) -> str:
        """Address of the new cluster. Raises RunError."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._remove_stale()
        self._folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX, dir=_short_folder()))
        self._link.symlink_to(self._folder)
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        command = [
            sys.executable,
            "-m",
            "engine.scale.local_head",
            str(self._folder),
            str(section.replicas),
        ]
        self._process.start(command, os.environ)
        return self._wait(self._folder / "address", checkpoint)

    @property
    def running(self) -> bool:
        """Whether the cluster's process has not ended yet."""
        return self._process.running

    def stop(self) -> None:
        """End the cluster and remove its folder; what replicas wrote is added to the log."""
        self._process.stop()
        if self._folder is not None:
            self._log_errors(self._folder)
            shutil.rmtree(self._folder, ignore_errors=True)
            self._link.unlink(missing_ok=True)
            self._folder = None

    def _wait(self, path: Path, checkpoint: Callable[[], None]) -> str:
        until = time.monotonic() + _START_SECONDS
        while not path.exists():
            checkpoint()
            if not self._process.running or time.monotonic() > until:
                last = next((line for line in reversed(self._process.tail()) if line.strip()), "no output")
                raise RunError(
                    what=f"Ray did not start: {last}",
                    where=str(self.log),
                    hint="read this log, correct the cause and resume",
                )
            time.sleep(_POLL_EVERY)
        return path.read_text()

    def _log_errors(self, folder: Path) -> None:
        with suppress(OSError), self.log.open("a", encoding="utf-8") as log:
            for path in sorted(folder.glob("r/session_2*/logs/worker-*.err")):
                lines = path.read_text(errors="replace")[-_KEPT_LETTERS:].splitlines()
                messages = [line for line in lines if line and not line.startswith(":")]  # ":": Ray's marks
                if messages:
                    log.write("\n".join([f"{path.name}:", *messages, ""]))

    def _remove_stale(self) -> None:
        """Remove the folder that a killed worker left; its guardian has ended the processes."""
        with suppress(OSError):
            target = Path(os.readlink(self._link))
            if target.name.startswith(_FOLDER_PREFIX):
                shutil.rmtree(target, ignore_errors=True)
        self._link.unlink(missing_ok=True)


def _require_ray() -> None:
    from importlib.util import find_spec

    if find_spec("ray") is None:
        raise RunError(
            what="Ray is not installed",
            where="scale.engine",
            hint="run pip install 'steer-tui[ray]', or set `scale.engine: local`",
        )


def _connect(address: str, checkpoint: Callable[[], None]) -> str:
    """Address of the head. `checkpoint` may block or raise meanwhile. Raises RunError.

    In a thread: Ray waits for minutes where the address answers but is no cluster, and in the main thread it would
    replace the signal handlers, which ask for a stop, by its own, which exit at once.
    """
    connection: Future[str] = Future()

    def connect() -> None:
        try:
            connection.set_result(_connected(address))
        except BaseException as error:
            connection.set_exception(error)

    threading.Thread(target=connect, name="ray", daemon=True).start()
    until = time.monotonic() + _CONNECT_SECONDS
    while not connection.done():
        checkpoint()
        if time.monotonic() > until:
            raise _no_cluster(address, f"no answer in {_CONNECT_SECONDS:g} s")
        time.sleep(_POLL_EVERY)
    error = connection.exception()
    if error is not None:
        raise _no_cluster(address, first_line(error)) from error
    return connection.result()


def _connected(address: str) -> str:
    import ray
    from ray._private.services import get_ray_address_from_environment

    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "auto":
        address = get_ray_address_from_environment(address, None)
    if _is_on_this_host_alone(address):
        stay_on_this_host()
        options["_node_ip_address"] = HOST
    if "RAY_AUTH_MODE" not in os.environ and _wants_token(address):
        from ray._raylet import Config  # pyright: ignore[reportAttributeAccessIssue]

        os.environ["RAY_AUTH_MODE"] = "token"
        Config.initialize("")  # read before
    ray.init(address=address, **options)
    return address.removeprefix("ray://")


def _wants_token(address: str) -> bool:
    """Whether the cluster's head refuses clients without a token: `ray start` requires a token where the user has one,
    and Ray sends it only with RAY_AUTH_MODE=token. False for a ray:// address, which cannot be asked."""
    import grpc

    if address.startswith("ray://"):
        return False
    with grpc.insecure_channel(address) as channel:
        try:
            channel.unary_unary("/ray.rpc.NodeInfoGcsService/GetClusterId")(b"", timeout=_REACH_SECONDS)
        except grpc.RpcError as error:
            return isinstance(error, grpc.Call) and error.code() is grpc.StatusCode.UNAUTHENTICATED
    return False


def _require_room(section: ScaleSection) -> None:
    """Raises RunError where this machine has too few GPUs for all replicas: they would wait for ever."""
    import ray

    each, gpus = section.gpus_per_replica, int(ray.cluster_resources().get("GPU", 0))
    if not each:
        return
    most = gpus * int(1 / each + 1e-6) if each <= 1 else int(gpus / each)
    if most < section.replicas:
        raise RunError(
            what=f"{section.replicas} replicas need {each:g} GPUs each: this machine has {gpus} GPUs, "
            f"enough for {most}",
            where="scale.gpus_per_replica",
            hint="lower it or scale.replicas, or give the address of a cluster that has more",
        )


def _no_cluster(address: str, message: str) -> RunError:
    return RunError(
        what=f"no Ray cluster can be joined at {address}: {message}",
        where="scale.address",
        hint="start one with `ray start --head` (same Python, Ray and steer-tui; set RAY_AUTH_MODE=token here, too, if "
        "it needs a token), or leave scale.address out",
    )


def _is_on_this_host_alone(address: str) -> bool:
    """Whether the cluster can be reached at 127.0.0.1 alone. Raises OSError where nothing answers: Ray itself would
    wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    _reach(host.strip("[]"), int(port))
    if host not in (HOST, "localhost") or address.startswith("ray://"):
        return False
    from ray._private.services import get_node_ip_address

    try:
        _reach(get_node_ip_address(), int(port))
    except OSError:
        return True
    return False


def _is_reached(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        _reach(host.strip("[]"), int(port))
    except OSError:
        return False
    return True


def _reach(host: str, port: int) -> None:
    socket.create_connection((host, port), timeout=_REACH_SECONDS).close()


def _short_folder() -> str:
    """The folder for temporary files, or /tmp where names of sockets in it would be too long."""
    folder = tempfile.gettempdir()
    return folder if len(folder) <= _LONGEST_FOLDER else "/tmp"
