"""Leaving while a run is running: asks whether to stop it, and waits until the engine has stopped."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.text import Text
from textual.app import ComposeResult
from textual.widgets import Static

from app.keys.commands import LEAVE, bindings
from app.runs.client import request_stop
from app.wording.text import kept_line
from engine.errors import RunError
from engine.run.directory import RunDirectory, inspect
from screens.panels.dialog import Dialog

PATIENCE = 5.0
"""Seconds to wait for the engine to stop."""

Choice = Literal["detach", "stop", "stay"]


class LeaveScreen(Dialog[Choice]):
    """Asks what to do with the runs that are running."""

    BINDINGS = bindings(LEAVE)

    def __init__(self, runs: Sequence[RunDirectory], elsewhere: Sequence[RunDirectory] = ()) -> None:
        title = "A run is still running" if len(runs) == 1 else f"{len(runs)} runs are still running"
        super().__init__(title, "-text -warning")
        self._runs = runs
        self._elsewhere = elsewhere

    def contents(self) -> ComposeResult:
        text = Text("\n".join(str(run.path) for run in self._runs), "bold")
        if self._elsewhere:
            text.append("\n\nNot started by this console, others may be watching: ")
            text.append(", ".join(run.path.name for run in self._elsewhere), "bold")
        text.append("\n\n^d   ", "bold").append("detach: quit, the engine continues")
        text.append("\nS    ", "bold").append(
            "stop and keep: stop the engine, then quit; finished work is kept"
        )
        text.append("\nesc  ", "bold").append("stay here")
        yield Static(text, markup=False)


@dataclass(frozen=True)
class LeftRun:
    """How a run was left. `state`: `RunStatus.state`."""

    directory: RunDirectory
    state: str
    alive: bool

    @property
    def line(self) -> str:
        """Where it is kept, and how to resume it."""
        path = self.directory.path
        if self.state == "finished":
            return f"finished; everything is in {path}"
        state = "no answer from the engine yet: it stops after its current item" if self.alive else self.state
        return kept_line(path, state)


class WaitingScreen(Dialog[list[LeftRun]]):
    """Stops the engines and shows that it waits; the result is how each run was left."""

    def __init__(self, runs: Sequence[RunDirectory], patience: float = PATIENCE) -> None:
        super().__init__("Stopping", "-text -warning")
        self._runs = runs
        self._patience = patience
        self._began = time.monotonic()

    def contents(self) -> ComposeResult:
        yield Static(id="waiting", markup=False)

    def on_mount(self) -> None:
        for run in self._runs:
            # Not a worker of the app: leaving must not wait for an engine that does not answer.
            threading.Thread(target=request_stop, args=(run,), daemon=True).start()
        self.set_interval(0.1, self._poll)
        self._poll()

    def _poll(self) -> None:
        runs = states_now(self._runs)
        left = self._patience - (time.monotonic() - self._began)
        if left <= 0 or not any(run.alive for run in runs):
            self.dismiss(runs)
            return
        text = Text("The engine stops after its current item; finished work is kept.\n\n")
        text.append("\n".join(f"{'●' if run.alive else '■'} {run.directory.path}" for run in runs), "bold")
        text.append(f"\n\nwaiting, {math.ceil(left)} s at most; ")
        text.append("Ctrl+C", "bold").append(" again leaves at once")
        self.query_one("#waiting", Static).update(text)


def states_now(runs: Sequence[RunDirectory]) -> list[LeftRun]:
    """The present state of these runs."""
    states: list[LeftRun] = []
    for run in runs:
        try:
            status = inspect(run.path)
        except RunError:
            states.append(LeftRun(run, "gone", False))
        else:
            states.append(LeftRun(run, status.state, status.alive))
    return states
