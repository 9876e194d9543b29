"""Sends a command to a run that is not open, in a thread; the answer becomes a notification."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import App

from app.runs.client import choose_stage
from app.runs.orders import send_command
from app.runs.run_list import stage_states
from app.wording.stage_words import change_words
from engine.errors import SteerError
from engine.run.directory import RunDirectory, inspect

if TYPE_CHECKING:
    from engine.run.stage_choices import StageChange


def choose_for_run(
    app: App[None], directory: RunDirectory, change: StageChange, then: Callable[[], None]
) -> None:
    """Make a choice about a stage, notify the user of what it changed, and do `then`; or say why it cannot be made."""

    def work() -> None:
        try:
            states = stage_states(inspect(directory.path))
            made = choose_stage(directory, change.choice, change.stage, change.undo)
        except SteerError as error:
            app.call_from_thread(app.notify, str(error), severity="error", markup=False)
            return
        app.call_from_thread(app.notify, change_words(made, states), markup=False)
        app.call_from_thread(then)

    threading.Thread(target=work, name=change.choice, daemon=True).start()


def command_run(app: App[None], directory: RunDirectory, command: str) -> None:
    """Send `command` and notify the user of the answer."""

    def work() -> None:
        answer = send_command(directory, command)
        app.call_from_thread(
            app.notify, answer.text, title=directory.path.name, severity=answer.severity, markup=False
        )

    threading.Thread(target=work, name=command, daemon=True).start()
