"""`python -m engine.scale.local_head FOLDER REPLICAS DASHBOARD`: a Ray cluster of this machine alone.

It runs until it is killed, and everything of it listens on 127.0.0.1. Where it can be reached is in
`FOLDER/address.json` once it can be.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from pathlib import Path

from engine.files import write_atomic

HOST = "127.0.0.1"
_OBJECT_STORE = 500_000_000
"""Bytes of shared memory. Items and results are small beside models, which are not in it."""


def stay_on_this_host() -> None:
    """Ray puts this machine's outward address in the place of 127.0.0.1, and then listens everywhere."""
    from ray._private import services

    services.resolve_ip_for_localhost = lambda host: host


def main(arguments: list[str]) -> None:
    """Start, tell, wait."""
    folder, replicas, dashboard = Path(arguments[0]), int(arguments[1]), arguments[2] == "dashboard"
    os.umask(0o077)  # Ray writes the token that lets others in
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray

    stay_on_this_host()
    context = ray.init(
        address="local",
        num_cpus=replicas,
        include_dashboard=dashboard,
        dashboard_host=HOST,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=_OBJECT_STORE,
        _node_ip_address=HOST,
        # Ray opens its folder to everybody; the one around it is not. Sockets lie in it: their names must be short.
        _temp_dir=str(folder / "r"),
    )
    found = {"address": ray.get_runtime_context().gcs_address, "dashboard": context.dashboard_url or ""}
    write_atomic(folder / "address.json", json.dumps(found))
    while True:
        signal.pause()


if __name__ == "__main__":
    main(sys.argv[1:])
