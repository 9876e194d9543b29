"""Communication of the processes that train together: rank 0 leads, the others follow (torch.distributed).

Commands, weights, counts and figures go by gloo; the gradients go by nccl between GPUs and by gloo between
CPUs. Rank 0 alone has a state: it sends the weights at every step, so the others need none.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from typing import Protocol

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import Store
from torch.distributed.distributed_c10d import _set_pg_timeout

from engine.errors import SteerError

MEETING_TIMEOUT = timedelta(minutes=2)
"""All processes have announced themselves: a process that does not connect by now is gone."""
STEP_TIMEOUT = timedelta(minutes=10)
PAUSE_TIMEOUT = timedelta(days=365)
"""Followers wait for a command for as long as the leader is paused."""

_OVER = -1
_log = logging.getLogger(__name__)


class RanksFailed(SteerError):
    """A process of the training is gone, or could not be started. The last checkpoint is kept."""


class Ranks(Protocol):
    """The rank processes, seen from any of them."""

    rank: int
    size: int
    device: torch.device

    def lead(self, step: int) -> AbstractContextManager[None]:
        """Rank 0: have all processes compute `step` within this context."""
        ...

    def follow(self) -> int | None:
        """The others: the step to compute; None when training is over."""
        ...

    def share(self, weights: torch.Tensor) -> None:
        """Put rank 0's `weights` into everyone's, all on the CPU."""
        ...

    def total(self, counts: Sequence[int]) -> list[int]:
        """Summed over all processes, entry by entry."""
        ...

    def gather(self, rows: torch.Tensor) -> list[torch.Tensor] | None:
        """`rows`, of the same shape everywhere, of every process at rank 0; None elsewhere."""
        ...

    def gather_bytes(self, data: bytes) -> list[bytes] | None:
        """`data` of every process, of any length, at rank 0; None elsewhere."""
        ...


class Alone:
    """One process."""

    rank, size = 0, 1

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def lead(self, step: int) -> AbstractContextManager[None]:
        return nullcontext()

    def follow(self) -> None:
        return None

    def share(self, weights: torch.Tensor) -> None:
        pass

    def total(self, counts: Sequence[int]) -> list[int]:
        return list(counts)

    def gather(self, rows: torch.Tensor) -> list[torch.Tensor]:
        return [rows]

    def gather_bytes(self, data: bytes) -> list[bytes]:
        return [data]


class Together:
    """`size` processes that met through `store`. Every failure between them raises RanksFailed."""

    def __init__(
        self,
        store: Store,
        rank: int,
        size: int,
        device: torch.device,
        cause: Callable[[str], RanksFailed] | None = None,
    ) -> None:
        """`cause` turns a message of the network into the error to raise."""
        self.rank, self.size, self.device = rank, size, device
        self._cause = cause or lost
        self.broken = False
        with self._talk():
            dist.init_process_group(
                "gloo",
                store=store,
                rank=rank,
                world_size=size,
                timeout=MEETING_TIMEOUT,
            )
            self._commands = _group("gloo", PAUSE_TIMEOUT)
            self._heavy = _group("nccl", STEP_TIMEOUT) if device.type == "cuda" else None
            _set_pg_timeout(STEP_TIMEOUT)

    # ------------------------------------------------------------ commands

    @contextmanager
    def lead(self, step: int) -> Iterator[None]:
        self._command(step)
        self.broken = True  # while the others wait for this process's share, they hear no command
        yield
        self.broken = False

    def follow(self) -> int | None:
        step = self._command(_OVER)
        return None if step == _OVER else step

    def share(self, weights: torch.Tensor) -> None:
        with self._talk():
            dist.broadcast(weights, 0)

    def close(self) -> None:
        """Rank 0 dismisses the others; every process leaves the group."""
        if self.rank == 0 and not self.broken:
            try:
                self._command(_OVER)
            except RanksFailed as error:
                _log.warning("%s", error)
        dist.destroy_process_group()

    def abort(self) -> None:
        """Abort operations that wait for a process that is gone: nccl would not notice. Callable from any thread."""
        if self._heavy is not None:
            self._heavy.abort()

    def _command(self, step: int) -> int:
        word = torch.tensor([step])
        with self._talk():
            dist.broadcast(word, 0, group=self._commands)
        return int(word)

    # ------------------------------------------------------------ results

    def total(self, counts: Sequence[int]) -> list[int]:
        summed = torch.tensor(counts, dtype=torch.long)
        with self._talk():
            dist.all_reduce(summed)
        return summed.tolist()

    def gather(self, rows: torch.Tensor) -> list[torch.Tensor] | None:
        return self._gather(rows, self._heavy)

    def gather_bytes(self, data: bytes) -> list[bytes] | None:
        longest = torch.tensor([len(data)])
        with self._talk():
            dist.all_reduce(longest, dist.ReduceOp.MAX)
        # the length comes first: all ranks send equally much
        sent = torch.zeros(8 + int(longest), dtype=torch.uint8)
        content = len(data).to_bytes(8, "big") + data
        sent[: len(content)] = torch.frombuffer(bytearray(content), dtype=torch.uint8)
        gathered = self._gather(sent, None)
        return None if gathered is None else [_content(row.numpy().tobytes()) for row in gathered]

    def _gather(self, rows: torch.Tensor, group: dist.ProcessGroup | None) -> list[torch.Tensor] | None:
        gathered = [torch.empty_like(rows) for _ in range(self.size)] if self.rank == 0 else None
        with self._talk():
            dist.gather(rows, gathered, dst=0, group=group)
        return gathered

    @contextmanager
    def _talk(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            self.broken = True
            raise self._cause(str(error)) from error


def _group(backend: str, timeout: timedelta) -> dist.ProcessGroup:
    group = dist.new_group(backend=backend, timeout=MEETING_TIMEOUT)
    assert isinstance(group, dist.ProcessGroup)
    _set_pg_timeout(timeout, group)
    return group


def _content(data: bytes) -> bytes:
    length = int.from_bytes(data[:8], "big")
    return data[8 : 8 + length]


def lost(said: str) -> RanksFailed:
    """The error for a process that is gone, as the network `said`."""
    return RanksFailed(
        what="a process of the training is gone",
        where=re.sub(r"^\[\S+\] ", "", said.splitlines()[0]).partition(". ")[0],  # without gloo's source line
        mend="see what it wrote last; resume to go on from the last checkpoint",
    )
