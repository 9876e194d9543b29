"""`ctl pause`, `unpause` and `stop`: sent to the worker's socket, whoever started it."""

from __future__ import annotations

import time
from typing import Any

from app.ctl.output import DONE, write_form, write_line
from app.runs.client import request_stop, send
from app.runs.orders import command_result
from app.wording.text import resume_command
from engine.errors import RunError
from engine.run.directory import RunDirectory, inspect

_PATIENCE, _POLL_SECONDS = 20.0, 0.05
_WORDS = {"continue": "unpause", "stop_after": "stop --after"}


class NoWorker(RunError):
    """Nothing works on the run, or what does cannot be reached."""


def send_and_report(directory: RunDirectory, command: str, as_json: bool) -> int:
    """Send a command and say what the worker answers. Raises NoWorker."""
    status = inspect(directory.path)
    if not status.alive:
        raise NoWorker(
            what=f"no worker works on this run: it is {status.state}",
            where=str(directory.path),
            hint="there is nothing left to do"
            if status.state == "finished"
            else resume_command(directory.path),
        )
    state, error = _send(directory, command)
    if error:
        raise RunError(what=error, where=str(directory.control), hint="see the worker's log")
    fields: dict[str, Any] = {"path": str(directory.path.absolute()), "command": _WORDS.get(command, command)}
    if as_json:
        write_form("answer", fields | {"state": state})
    else:
        write_line(_sentence(command, state))
    return DONE


def _send(directory: RunDirectory, command: str) -> tuple[str, str]:
    """(the worker's state, what it refused); a stop also by signal, where the socket is silent. A worker that has just
    started opens its socket after a moment."""
    deadline = time.monotonic() + _PATIENCE
    while not directory.control.exists() and inspect(directory.path).alive and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    try:
        reply = send(directory, command)
    except RunError as error:
        if command == "stop" and request_stop(directory):
            return "stopping", ""
        raise NoWorker(what=error.what, where=error.where, hint=error.hint) from error
    return str(reply.status.get("state", "")), "" if reply.ok else reply.error


def _sentence(command: str, state: str) -> str:
    if command == "stop_after":
        return "The engine stops where its unit of work ends; finished work is kept."
    return command_result(command, state)
