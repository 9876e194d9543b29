"""The Ray cluster that replicas live on: joined where it is, or started on this machine and ended with the run."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import RunError
from engine.lm.server_process import ServerProcess
from engine.scale.local_head import HOST, stay_on_this_host
from engine.scale.settings import ScaleSection

_FOLDER_PREFIX = "steer-ray-"
_START_SECONDS = 120.0
_CONNECT_SECONDS = 5.0
_GRACE = 1.0
_LOOK_EVERY = 0.05


@dataclass
class Cluster:
    """`address`: as it was joined. `dashboard`: URL, empty where there is none. `own`: started here."""

    address: str
    dashboard: str
    own: OwnCluster | None

    @classmethod
    def join(cls, section: ScaleSection, folder: Path, checkpoint: Callable[[], None]) -> Cluster:
        """Join the configured cluster, or start one that keeps its log in `folder`. `checkpoint` may block or raise
        meanwhile. Raises RunError."""
        _require_ray()
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        if section.address is not None:
            return cls(section.address, _connect(section.address), None)
        own = OwnCluster(folder)
        try:
            address, dashboard = own.start(section, checkpoint)
            _connect(address)
        except BaseException:
            own.stop()
            raise
        return cls(address, _url(dashboard), own)

    def leave(self) -> None:
        """Disconnect; end what was started."""
        import ray

        with suppress(Exception):  # a cluster that is gone cannot be taken leave of
            ray.shutdown()
        if self.own is not None:
            self.own.stop()


class OwnCluster:
    """Started under a guardian: it ends with this process, however that ends."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "ray.log"
        self._link = folder / "ray"
        self._process = ServerProcess(self._log, _GRACE)
        self._folder: Path | None = None

    def start(self, section: ScaleSection, checkpoint: Callable[[], None]) -> tuple[str, str]:
        """Address and dashboard of the new cluster. Raises RunError."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._remove_stale()
        self._folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX))
        self._link.symlink_to(self._folder)
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        shown = "dashboard" if section.dashboard else "none"
        command = [
            sys.executable,
            "-m",
            "engine.scale.local_head",
            str(self._folder),
            str(section.replicas),
            shown,
        ]
        self._process.start(command, os.environ)
        return self._wait(self._folder / "address.json", checkpoint)

    def stop(self) -> None:
        """Leave nothing behind but the log."""
        self._process.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._link.unlink(missing_ok=True)
            self._folder = None

    def _wait(self, path: Path, checkpoint: Callable[[], None]) -> tuple[str, str]:
        until = time.monotonic() + _START_SECONDS
        while not path.exists():
            checkpoint()
            if not self._process.running or time.monotonic() > until:
                last = next((line for line in reversed(self._process.tail()) if line.strip()), "no output")
                raise RunError(
                    what=f"Ray did not start: {last}",
                    where=str(self._log),
                    mend="see there; resume when it is mended",
                )
            time.sleep(_LOOK_EVERY)
        found = json.loads(path.read_text())
        return found["address"], found["dashboard"]

    def _remove_stale(self) -> None:
        """What a killed worker left; its guardian has ended the processes."""
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
            mend="pip install 'steer-tui[ray]', or use `local`",
        )


def _connect(address: str) -> str:
    """URL of the dashboard. Raises RunError."""
    import ray

    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if _is_on_this_host_alone(address):
            stay_on_this_host()
            options["_node_ip_address"] = HOST
        with _own_signals():
            context = ray.init(address=address, **options)
    except (OSError, RuntimeError, ValueError, AssertionError) as error:
        said = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise RunError(
            what=f"no Ray cluster can be joined at {address}: {said}",
            where="scale.address",
            mend="start one with `ray start --head` (same Python, Ray and steer-tui), or leave the address out",
        ) from error
    return _url(getattr(context, "dashboard_url", None) or "")


def _is_on_this_host_alone(address: str) -> bool:
    """Whether the cluster is reached at 127.0.0.1 and nowhere else. Raises OSError where nobody answers: Ray itself
    would wait for minutes."""
    if address == "auto":
        return False
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


def _reach(host: str, port: int) -> None:
    socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()


def _url(place: str) -> str:
    return place if not place or place.startswith("http") else f"http://{place}"


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray installs handlers that leave at once; those that were there ask for a stop."""
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        with suppress(ValueError):  # only the main thread has handlers
            for number, handler in before.items():
                signal.signal(number, handler)
