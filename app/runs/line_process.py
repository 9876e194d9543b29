"""A process of the engine's that answers one line of JSON by another: what a screen asks of a run's own models."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine.errors import SteerError

_LONGEST_REPLY = 1 << 24


class LineProcess:
    """`python -m module RUN`, started at the first question, and asked one thing at a time."""

    def __init__(self, module: str, run_dir: Path) -> None:
        self._module = module
        self._run_dir = run_dir
        self._process: Process | None = None
        self._turn = asyncio.Lock()

    async def ask(self, wanted: dict[str, Any]) -> bytes:
        """The line that answers. Raises SteerError with what the process said, or that it is gone."""
        async with self._turn:
            process = await self._running()
            assert process.stdin is not None and process.stdout is not None
            line = b""
            with suppress(ConnectionError):
                process.stdin.write(json.dumps(wanted).encode() + b"\n")
                await process.stdin.drain()
                line = await process.stdout.readline()
        if not line:
            raise SteerError(
                what="the process that answers has ended",
                where=f"python -m {self._module} {self._run_dir}",
                mend="run this command by hand to see why",
            )
        reply = json.loads(line)
        if "error" in reply:
            raise SteerError(what=reply["error"])
        return line

    async def close(self) -> None:
        """End the process."""
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
            await self._process.wait()

    async def _running(self) -> Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", self._module, str(self._run_dir),
                stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=_LONGEST_REPLY,
            )  # fmt: skip
        return self._process
