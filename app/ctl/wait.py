"""`ctl wait`: until a run has ended, or has reached a state."""

from __future__ import annotations

import time

from app.ctl.output import DONE, FAILED, NO_WORKER, TIME_IS_UP, write_form, write_line
from engine.run.directory import RunDirectory, RunStatus, inspect

_POLL_SECONDS = 0.1


def wait(directory: RunDirectory, until: str | None, timeout: float | None, as_json: bool) -> int:
    """Wait until no worker works on the run, or until its state is `until`; the exit code says which it was."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        status = inspect(directory.path)
        code = _code(status, until)
        if code is None and deadline is not None and time.monotonic() >= deadline:
            code = TIME_IS_UP
        if code is not None:
            _write(status, code, as_json)
            return code
        time.sleep(_POLL_SECONDS)


def _code(status: RunStatus, until: str | None) -> int | None:
    """None while there is something to wait for."""
    if until is not None and status.state == until:
        return DONE
    if status.alive:
        return None
    return NO_WORKER if until is not None else code_of_state(status.state)


def code_of_state(state: str) -> int:
    """The exit code for a run on which nothing works any more."""
    return {"finished": DONE, "failed": FAILED}.get(state, NO_WORKER)


def _write(status: RunStatus, code: int, as_json: bool) -> None:
    path = status.directory.path
    if as_json:
        fields = {"path": str(path.absolute()), "state": status.state, "failure": status.failure or None}
        write_form("end", fields | {"time_is_up": code == TIME_IS_UP})
        return
    late = "the time is up; " if code == TIME_IS_UP else ""
    write_line(f"{late}{status.state}: {path}" + (f": {status.failure}" if status.failure else ""))
