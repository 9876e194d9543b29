"""Processes as /proc tells them: who descends from whom, who lives, and where they listen."""

from __future__ import annotations

import ipaddress
import os
from contextlib import suppress
from pathlib import Path

from tests import processes


def descendants(pid: int) -> set[int]:
    """All processes below `pid`."""
    return {child for child, _ in processes.descendants(pid)}


def living(pids: set[int]) -> set[int]:
    """Those that still run; one that only waits to be collected does not."""
    found: set[int] = set()
    for pid in pids:
        with suppress(OSError):
            state = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z":
                found.add(pid)
    return found


def listening(pids: set[int]) -> set[str]:
    """Addresses at which any of these processes listens for TCP."""
    sockets: set[str] = set()
    for pid in pids:
        with suppress(OSError):
            for handle in (Path("/proc") / str(pid) / "fd").iterdir():
                with suppress(OSError):
                    sockets.add(os.readlink(handle).removeprefix("socket:[").removesuffix("]"))
    found: set[str] = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in sockets:
                found.add(_address(fields[1].partition(":")[0]))
    return found


def _address(kernel: str) -> str:
    words = [int(kernel[start : start + 8], 16).to_bytes(4, "little") for start in range(0, len(kernel), 8)]
    address = ipaddress.ip_address(b"".join(words))
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)
