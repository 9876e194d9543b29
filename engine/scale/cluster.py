"""The Ray cluster that replicas run on: joined for the run, and left."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from engine.errors import RunError, first_line

_HOST = "127.0.0.1"
_CONNECT_SECONDS = 60.0
_REACH_SECONDS = 5.0
_CHECK_EVERY = 1.0
_LOST_AFTER = 20.0
"""Seconds without an answer."""
_POLL_SECONDS = 0.05


@dataclass
class Cluster:
    """A joined cluster. `head`: host and port that answer as long as the cluster runs."""

    address: str
    head: str
    _checked: float = 0.0
    _missed_since: float | None = None

    @classmethod
    def join(cls, address: str, checkpoint: Callable[[], None]) -> Cluster:
        """Join the cluster at `address`. `checkpoint` may block or raise meanwhile. Raises RunError."""
        _require_ray()
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        return cls(address, _connect(address, checkpoint))

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
        if now - self._missed_since > _LOST_AFTER:
            raise RunError(
                what=f"the Ray cluster at {self.address} is gone",
                where="scale.address",
                hint="resume when it runs again",
            )

    @property
    def answers(self) -> bool:
        """Whether the head answers now."""
        return _is_reached(self.head)

    def leave(self) -> None:
        """Disconnect."""
        import ray

        if self.answers:  # else Ray would wait for the cluster, or end this process
            with suppress(Exception):
                ray.shutdown()


def _require_ray() -> None:
    from importlib.util import find_spec

    if find_spec("ray") is None:
        raise RunError(
            what="Ray is not installed",
            where="scale.address",
            hint="run pip install 'steer-tui[ray]', or leave `scale.address` out: replicas then work on this machine",
        )


def _connect(address: str, checkpoint: Callable[[], None]) -> str:
    """Address of the head. `checkpoint` may block or raise meanwhile. Raises RunError.

    In a thread: Ray waits for minutes where the address answers but is no cluster, and in the main thread it would
    replace the signal handlers, which ask for a stop, by its own, which exit at once. Main thread only.
    """
    connection: Future[str] = Future()

    def connect() -> None:
        try:
            connection.set_result(_connected(address))
        except BaseException as error:
            connection.set_exception(error)

    threading.Thread(target=connect, name="ray", daemon=True).start()
    until = time.monotonic() + _CONNECT_SECONDS
    try:
        while not connection.done():
            checkpoint()
            if time.monotonic() > until:
                raise _no_cluster(address, f"no answer in {_CONNECT_SECONDS:g} s")
            time.sleep(_POLL_SECONDS)
    finally:
        _take_back_stop_signal()
    error = connection.exception()
    if error is not None:
        raise _no_cluster(address, first_line(error)) from error
    return connection.result()


def _take_back_stop_signal() -> None:
    """Ray puts a handler of its own in front of SIGTERM's: it ends the process 3 s after a signal by an alarm, however
    far the stop has come."""
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))
    signal.alarm(0)


def _connected(address: str) -> str:
    import ray
    from ray._private.services import get_ray_address_from_environment

    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "auto":
        address = get_ray_address_from_environment(address, None)
    if _is_on_this_host_alone(address):
        _stay_on_this_host()
        options["_node_ip_address"] = _HOST
    if "RAY_AUTH_MODE" not in os.environ and _wants_token(address):
        from ray._raylet import Config  # pyright: ignore[reportAttributeAccessIssue]

        os.environ["RAY_AUTH_MODE"] = "token"
        Config.initialize("")  # read before
    ray.init(address=address, **options)
    return address.removeprefix("ray://")


def _stay_on_this_host() -> None:
    """Keep Ray from replacing 127.0.0.1 by this machine's network address: it would then listen everywhere."""
    from ray._private import services

    services.resolve_ip_for_localhost = lambda host: host


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


def _no_cluster(address: str, message: str) -> RunError:
    return RunError(
        what=f"no Ray cluster can be joined at {address}: {message}",
        where="scale.address",
        hint="start one with `ray start --head` (same Python, Ray and steer-tui; set RAY_AUTH_MODE=token here, too, if "
        "it needs a token), or leave scale.address out: replicas then work on this machine",
    )


def _is_on_this_host_alone(address: str) -> bool:
    """Whether the cluster can be reached at 127.0.0.1 alone. Raises OSError where nothing answers: Ray itself would
    wait for minutes."""
    _reach(address.removeprefix("ray://"))
    host, _, port = address.rpartition(":")
    if host not in (_HOST, "localhost"):
        return False
    from ray._private.services import get_node_ip_address

    return not _is_reached(f"{get_node_ip_address()}:{port}")


def _is_reached(address: str) -> bool:
    try:
        _reach(address)
    except OSError:
        return False
    return True


def _reach(address: str) -> None:
    host, _, port = address.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_SECONDS).close()
