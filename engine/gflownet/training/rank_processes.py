"""The follower ranks on this machine, as child processes of the leader."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from engine.gflownet.training.ranks import RanksFailed, lost
from engine.processes.own_process import engine_command, engine_environment
from engine.processes.server_process import ServerProcess

_GRACE = 5.0
_NOTICED_WITHIN = 2.0


class RankProcesses:
    """Ranks 1 .. `size` - 1, each under a guardian: they end when this process does, however it ends."""

    def __init__(self, run_dir: Path, size: int) -> None:
        self._run_dir = run_dir
        self._size = size
        self._ranks: dict[int, ServerProcess] = {}

    def start(self, port: int) -> None:
        """Start all ranks; they meet at 127.0.0.1:`port`. Raises DiskError where a log cannot be written."""
        for rank in range(1, self._size):
            place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": self._size, "MASTER_PORT": port}
            env = engine_environment() | {name: str(value) for name, value in place.items()}
            self._ranks[rank] = ServerProcess(self.log(rank), _GRACE)
            command = engine_command("join", str(self._run_dir.absolute()))
            self._ranks[rank].start(command, env | {"MASTER_ADDR": "127.0.0.1"})

    def log(self, rank: int) -> Path:
        """The rank's log file."""
        return self._run_dir / "ranks" / f"rank{rank}.log"

    def failure(self) -> RanksFailed | None:
        """Which rank ended, and how; None while all run."""
        codes = {rank: process.exit_code for rank, process in self._ranks.items()}
        failed = {rank: code for rank, code in codes.items() if code is not None}
        if not failed:
            return None
        # The death of a rank makes others fail too: name the cause.
        rank = max(failed, key=lambda rank: failed[rank] or 0)
        last = self._ranks[rank].tail(1)
        return RanksFailed(
            what=f"rank {rank} of the training ended (exit code {failed[rank]}{_said(last)})",
            where=str(self.log(rank)),
            mend="resume to go on from the last checkpoint",
        )

    def cause(self, said: str) -> RanksFailed:
        """Why the network failed with the message `said`: waits a moment for the process that ended."""
        until = time.monotonic() + _NOTICED_WITHIN
        while time.monotonic() < until and self.failure() is None:
            time.sleep(0.02)
        time.sleep(0.1)  # a killed rank and those that fail with it end in any order
        return self.failure() or lost(said)

    def let_go(self) -> None:
        """Give the ranks, which know that training is over, a moment to end by themselves."""
        until = time.monotonic() + _GRACE
        while time.monotonic() < until and any(process.running for process in self._ranks.values()):
            time.sleep(0.02)

    def stop(self) -> None:
        """End all ranks that still run."""
        for process in self._ranks.values():
            process.stop()
        self._ranks.clear()


def _said(lines: Sequence[str]) -> str:
    return f": {lines[-1]}" if lines else ""
