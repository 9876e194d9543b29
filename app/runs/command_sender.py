"""Sends a command to a run that is not open, in a thread; the answer becomes a notification."""

from __future__ import annotations

import threading

from textual.app import App

from app.runs.client import send
from app.runs.session import command_result
from engine.errors import RunError
from engine.run.directory import RunDirectory


def command_run(app: App[None], directory: RunDirectory, command: str) -> None:
    """Send `command` and notify the user of the answer."""

    def work() -> None:
        try:
            reply = send(directory, command)
        except RunError as error:
            app.call_from_thread(app.notify, str(error), severity="error", markup=False)
            return
        text = command_result(command, str(reply.status.get("state", ""))) if reply.ok else reply.error
        severity = "information" if reply.ok else "error"
        app.call_from_thread(app.notify, text, title=directory.path.name, severity=severity, markup=False)

    threading.Thread(target=work, name=command, daemon=True).start()
