"""Trials in a process of their own: a class may end the process that it runs in, and somebody has to say so."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from engine.testkit.trial import Seen

Begin = Callable[[str], None]
_SEEN = b"\0"
"""Before the line of what was seen; the others name trials."""


def apart(trials: Callable[[Begin], Sequence[Seen]]) -> list[Seen]:
    """What `trials` sees in a copy of this process. `trials` is given what it tells of each trial before it begins.
    Where the copy ends in between, the trial that ended it is the only finding."""
    end, told = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    if (child := os.fork()) == 0:
        os.close(end)
        _tell(trials, told)
    os.close(told)
    at, seen = "begin", None
    with os.fdopen(end, "rb") as file:
        for line in file:
            if line.startswith(_SEEN):
                seen = msgspec.json.decode(line.removeprefix(_SEEN), type=list[Seen])
                break  # a process that the class has left may hold the pipe open
            at = line.decode().strip()
    _, status = os.waitpid(child, 0)
    return (
        seen
        if seen is not None
        else [Seen(at, f"it ended the process it ran in, a whole run with it: {_ending(status)}")]
    )


def _tell(trials: Callable[[Begin], Sequence[Seen]], told: int) -> None:
    """Of the copy: never returns."""
    try:
        with os.fdopen(told, "wb", buffering=0) as file:

            def begin(trial: str) -> None:
                file.write(trial.encode() + b"\n")

            seen = trials(begin)
            file.write(_SEEN + msgspec.json.encode(seen) + b"\n")
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    with suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(0)  # a thread that the class has left may never end


def _ending(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"
