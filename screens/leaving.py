"""Leaving while a run is at work: what to do with it, and waiting for the engine's word."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from app.commands import LEAVE, bindings
from app.runs.client import request_stop
from app.text import resume_command
from engine.errors import RunError
from engine.run.directory import RunDirectory, inspect
from screens.widgets.key_line import KeyLine

PATIENCE = 5.0
"""Seconds to wait for the engine's word."""

Choice = Literal["detach", "stop", "stay"]


class LeaveScreen(ModalScreen[Choice]):
    """Asks what to do with the runs that are at work."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(LEAVE)
    DEFAULT_CSS = """
    LeaveScreen, WaitingScreen {
        align: center middle;
        & > Vertical {
            width: 90%;
            max-width: 76;
            height: auto;
            padding: 1 2;
            border: round $warning;
            border-title-color: $text-warning;
            border-title-style: bold;
            background: $surface;
        }
        & Static { height: auto; }
    }
    """

    def __init__(self, runs: Sequence[RunDirectory]) -> None:
        super().__init__()
        self._runs = runs

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = (
                "A run is at work" if len(self._runs) == 1 else f"{len(self._runs)} runs are at work"
            )
            text = Text("\n".join(str(run.path) for run in self._runs), "bold")
            text.append("\n\nd    ", "bold").append("detach: leave, the engine goes on")
            text.append("\ns    ", "bold").append(
                "stop and keep: what is finished is kept, it can be resumed"
            )
            text.append("\nesc  ", "bold").append("stay")
            yield Static(text, markup=False)
        yield KeyLine()

    def action_detach(self) -> None:
        """Leave it running."""
        self.dismiss("detach")

    def action_stop(self) -> None:
        """Stop it first."""
        self.dismiss("stop")

    def action_stay(self) -> None:
        """Do not leave."""
        self.dismiss("stay")


@dataclass(frozen=True)
class LastWord:
    """How a run was left. `state`: as `RunStatus.state`."""

    directory: RunDirectory
    state: str
    alive: bool

    @property
    def line(self) -> str:
        """Where it is kept, and how to go on with it."""
        path = self.directory.path
        if self.state == "finished":
            return f"finished; everything is in {path}"
        if self.alive:
            return (
                f"no word from the engine yet: it stops after the item it is at; kept in {path}; "
                f"to go on: {resume_command(path)}"
            )
        return f"{self.state}; kept in {path}; to go on: {resume_command(path)}"


class WaitingScreen(ModalScreen[list[LastWord]]):
    """Asks the engines to keep what they have and stop, and shows that it waits; gives their last words."""

    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, runs: Sequence[RunDirectory], patience: float = PATIENCE) -> None:
        super().__init__()
        self._runs = runs
        self._patience = patience
        self._began = time.monotonic()

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Stopping"
            yield Static(id="waiting", markup=False)

    def on_mount(self) -> None:
        for run in self._runs:
            # Not a worker of the app: leaving must not wait for an engine that does not answer.
            threading.Thread(target=request_stop, args=(run,), daemon=True).start()
        self.set_interval(0.1, self._look)
        self._look()

    def _look(self) -> None:
        words = last_words(self._runs)
        left = self._patience - (time.monotonic() - self._began)
        if left <= 0 or not any(word.alive for word in words):
            self.dismiss(words)
            return
        text = Text("The engine keeps what it has and stops after the item it is at.\n\n")
        text.append(
            "\n".join(f"{'●' if word.alive else '■'} {word.directory.path}" for word in words), "bold"
        )
        text.append(f"\n\nwaiting for its word, {math.ceil(left)} s at most; ")
        text.append("Ctrl+C", "bold").append(" again leaves at once")
        self.query_one("#waiting", Static).update(text)


def last_words(runs: Sequence[RunDirectory]) -> list[LastWord]:
    """How these runs stand now."""
    words: list[LastWord] = []
    for run in runs:
        try:
            status = inspect(run.path)
        except RunError:
            words.append(LastWord(run, "gone", False))
        else:
            words.append(LastWord(run, status.state, status.alive))
    return words
