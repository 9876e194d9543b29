"""`python -m engine.scale.local_head FOLDER REPLICAS`: a Ray cluster of this machine alone.

It runs until it is killed, and all its ports listen on 127.0.0.1. Once the cluster can be reached,
`FOLDER/address` holds its address.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from pathlib import Path

from engine.files import write_atomic

HOST = "127.0.0.1"
_OBJECT_STORE = 500_000_000
"""Bytes of shared memory: it holds items and results, which are small, and no models."""


def stay_on_this_host() -> None:
    """Keep Ray from replacing 127.0.0.1 by this machine's network address: it would then listen everywhere."""
    from ray._private import services

    services.resolve_ip_for_localhost = lambda host: host


def main(arguments: list[str]) -> None:
    """Start the cluster, write its address, wait."""
    folder, replicas = Path(arguments[0]), int(arguments[1])
    os.umask(0o077)  # Ray writes the token that opens the cluster
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray

    stay_on_this_host()
    ray.init(
        address="local",
        num_cpus=replicas,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=_OBJECT_STORE,
        _node_ip_address=HOST,
        # Ray opens its folder to everybody; the folder around it is closed. Its sockets need short names.
        _temp_dir=str(folder / "r"),
    )
    write_atomic(folder / "address", ray.get_runtime_context().gcs_address)
    while True:
        signal.pause()


if __name__ == "__main__":
    main(sys.argv[1:])
