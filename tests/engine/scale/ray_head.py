"""A Ray cluster of this machine alone, for tests: all its ports listen on 127.0.0.1.

`python -m tests.engine.scale.ray_head FOLDER CPUS` runs it until its parent has gone; `FOLDER/address` then holds its
address.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.files import write_atomic


@contextmanager
def ray_head(cpus: int = 2) -> Iterator[tuple[str, Path]]:
    """Its address and its folder. Names of sockets in the folder must be short."""
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        command = [sys.executable, "-m", "tests.engine.scale.ray_head", folder, str(cpus)]
        environment = os.environ | {"RAY_AUTH_MODE": "token"}
        with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as head:
            try:
                until = time.monotonic() + 120
                while not (address := Path(folder, "address")).exists():
                    assert head.poll() is None and time.monotonic() < until, "Ray did not start"
                    time.sleep(0.05)
                yield address.read_text(), Path(folder)
            finally:
                head.communicate(timeout=60)


def main(folder: Path, cpus: int) -> None:
    """Start the cluster, write its address, wait for the end of the input."""
    os.umask(0o077)  # Ray writes the token that opens the cluster
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray._private import services

    services.resolve_ip_for_localhost = lambda host: host  # type: ignore[method-assign]
    ray.init(
        address="local",
        num_cpus=cpus,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=500_000_000,
        _node_ip_address="127.0.0.1",
        _temp_dir=str(folder / "r"),
    )
    write_atomic(folder / "address", ray.get_runtime_context().gcs_address)
    sys.stdin.read()
    ray.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
