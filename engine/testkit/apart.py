"""Trials in a process of their own: a class may end the process that it runs in, and somebody has to say so."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, NoReturn

import msgspec

from engine.testkit.trial import Seen

Begin = Callable[[str], None]
_SEEN = b"\0"
"""Before the line of what was seen; the others name trials."""


def apart(trials: Callable[[Begin], Sequence[Seen]]) -> list[Seen]:
    """What `trials` sees in a copy of this process. `trials` reports each trial through it before it begins.
    Where the copy ends in between, the trial that ended it is the only finding."""
    sys.stdout.flush()
    sys.stderr.flush()
    # No pipe: a process that the class has left may hold one open for as long as it likes.
    with tempfile.TemporaryFile(buffering=0) as report:
        if (child := os.fork()) == 0:
            _report(trials, report)
        try:
            _, status = os.waitpid(child, 0)
        except BaseException:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise
        report.seek(0)
        at = "begin"
        for line in report:
            if line.startswith(_SEEN):
                return msgspec.json.decode(line.removeprefix(_SEEN), type=list[Seen])
            at = line.decode().strip()
    return [Seen(at, f"it ended the process it ran in, a whole run with it: {_ending(status)}")]


def _report(trials: Callable[[Begin], Sequence[Seen]], report: IO[bytes]) -> NoReturn:
    """Of the copy."""
    try:
        seen = trials(lambda trial: _write(report, trial.encode()))
        _write(report, _SEEN + msgspec.json.encode(seen))
    except KeyboardInterrupt:
        os._exit(1)  # this process was interrupted, too, and says so
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    with suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(0)  # a thread that the class has left may never end


def _write(report: IO[bytes], line: bytes) -> None:
    report.write(line + b"\n")


def _ending(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"
