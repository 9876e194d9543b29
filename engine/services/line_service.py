"""A process that answers one line of JSON by another, for the console: it holds a run's models."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

from engine.errors import SteerError, disk_errors
from engine.regular_file import open_to_append
from engine.torch_file import torch_threads

Reply = Callable[[str], bytes]
"""From a request line to a reply line; raises SteerError for what a user can correct."""


def kept_line(file: Path, line: bytes) -> bytes:
    """A reply, which is appended to a file of the run, too. Raises DiskError."""
    with disk_errors(file):
        file.parent.mkdir(exist_ok=True)
        with open_to_append(file) as replies:
            replies.write(line)
    return line


def error_line(text: str) -> bytes:
    """What the console shows as an error."""
    return json.dumps({"error": text}).encode() + b"\n"


def serve_lines(begin: Callable[[], Reply], requests: IO[str], replies: IO[bytes]) -> None:
    """Answer until the requests end. `begin` loads what is needed, at the first request and again if it failed."""
    reply: Reply | None = None
    for line in requests:
        try:
            reply = reply or begin()
            answer = reply(line)
        except SteerError as error:
            answer = error_line(str(error))
        replies.write(answer)
        replies.flush()


def serve_console(serve: Callable[[Path, IO[str], IO[bytes]], None], run_dir: Path) -> None:
    """Serve standard input for this run."""
    with torch_threads(1):
        serve(run_dir.absolute(), sys.stdin, sys.stdout.buffer)
