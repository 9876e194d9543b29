"""An engine process that answers each line of JSON with a line of JSON; screens query a run's models through it."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Any

from app.runs.error_output import ErrorOutput
from engine.errors import SteerError
from engine.processes.engine_process import engine_command, engine_environment

_LONGEST_REPLY = 1 << 24
_PATIENCE = 2.0


class LineProcess:
    """`python -m engine COMMAND RUN`, started at the first request; requests run one after the other."""

    def __init__(self, command: str, run_dir: Path) -> None:
        self._command = command
        self._run_dir = run_dir
        self._process: Process | None = None
        self._errors: ErrorOutput | None = None
        self._turn = asyncio.Lock()

    async def request(self, fields: dict[str, Any]) -> bytes:
        """The line that answers a request. Raises SteerError with the process's error, or why it ended.

        Who asked may leave: the reply is read all the same, or the next one to ask would be given it."""
        exchange = asyncio.create_task(self._exchange(fields))
        exchange.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(exchange)

    async def _exchange(self, fields: dict[str, Any]) -> bytes:
        async with self._turn:
            process = await self._running()
            assert process.stdin is not None and process.stdout is not None
            line = b""
            with suppress(ConnectionError):
                process.stdin.write(json.dumps(fields).encode() + b"\n")
                await process.stdin.drain()
                line = await process.stdout.readline()
            if not line:
                raise await self._ended(process)
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
            process = await asyncio.create_subprocess_exec(
                *engine_command(self._command, str(self._run_dir.absolute())),
                stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=_LONGEST_REPLY, env=engine_environment(),
            )  # fmt: skip
            assert process.stderr is not None
            self._process, self._errors = process, ErrorOutput(process.stderr, self._run_dir)
        return self._process

    async def _ended(self, process: Process) -> SteerError:
        """The error for a process that no longer answers."""
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _PATIENCE)
        output = "" if self._errors is None else await self._errors.last_lines()
        return SteerError(
            what=f"the helper process has ended (exit code {process.returncode})"
            + (f": {output}" if output else ""),
            where=f"python -m engine {self._command} {self._run_dir}",
            hint="ask again to start another process",
        )
