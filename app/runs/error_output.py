"""The end of a process's error output: enough to see why it ended, without secrets."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

from engine.environment_secrets import secret_values
from engine.regular_file import open_to_read
from engine.run.directory import RunDirectory

_KEPT = 8_192
_LINES = 3
_LONGEST = 400
_NAMED_IN_CONFIG = re.compile(r"api_key_env['\"]?\s*:\s*['\"]?(\w+)")
_MOST_CONFIG = 1 << 24
_USER_IN_ADDRESS = re.compile(r"(?<=://)[^/\s@]+(?=@)")


class ErrorOutput:
    """Reads a process's error output to its end and keeps the last of it."""

    def __init__(self, stream: asyncio.StreamReader, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._last = b""
        self._reading = asyncio.create_task(self._read(stream))

    async def last_lines(self, patience: float = 2.0) -> str:
        """The last lines of a process that has ended, joined; its child processes may still hold the stream open."""
        await asyncio.wait([self._reading], timeout=patience)
        text = redactor(self._run_dir)(self._last.decode(errors="replace"))
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return " / ".join(lines[-_LINES:])[-_LONGEST:]

    async def _read(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(_KEPT):
            self._last = (self._last + chunk)[-_KEPT:]


def redactor(run_dir: Path) -> Callable[[str], str]:
    """Writes `***` for the values of variables that hold keys, by their names or by the run's configuration, and for
    users and passwords in addresses."""
    try:
        with open_to_read(RunDirectory(run_dir).config) as file:
            named = _NAMED_IN_CONFIG.findall(file.read(_MOST_CONFIG).decode(errors="replace"))
    except OSError:
        named = []
    secrets = secret_values(named)

    def redact(text: str) -> str:
        for value in secrets:
            text = text.replace(value, "***")
        return _USER_IN_ADDRESS.sub("***", text)

    return redact
