"""The console's side of sampling a question again: a process of its own that holds the trained sampler."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.errors import SteerError
from engine.events import QuestionSampled, decode

_LONGEST_REPLY = 1 << 24


@dataclass(frozen=True)
class SampleAgain:
    """How to sample a question. `draw` 0 repeats the run's own samples."""

    sample_id: str
    temperature: float
    prior_alpha: float
    samples: int
    draw: int = 1


class PathSampler:
    """Starts the process at the first question, and asks it one thing at a time."""

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._process: Process | None = None
        self._turn = asyncio.Lock()

    async def ask(self, wanted: SampleAgain) -> QuestionSampled:
        """The new samples. Raises SteerError with what the process said, or that it is gone."""
        async with self._turn:
            process = await self._running()
            assert process.stdin is not None and process.stdout is not None
            line = b""
            with suppress(ConnectionError):
                process.stdin.write(json.dumps(asdict(wanted)).encode() + b"\n")
                await process.stdin.drain()
                line = await process.stdout.readline()
        if not line:
            raise SteerError(
                what="the process that samples has ended",
                where=f"python -m engine.gflownet.sample_again {self._run_dir}",
                mend="run this command by hand to see why",
            )
        reply = json.loads(line)
        if "error" in reply:
            raise SteerError(what=reply["error"])
        event = decode(line)
        assert isinstance(event, QuestionSampled)
        return event

    async def close(self) -> None:
        """End the process."""
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
            await self._process.wait()

    async def _running(self) -> Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "engine.gflownet.sample_again", str(self._run_dir),
                stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=_LONGEST_REPLY,
            )  # fmt: skip
        return self._process
