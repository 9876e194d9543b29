"""How the console is left: asked first, by Ctrl+C, by a signal; and what it prints afterwards."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from shlex import quote

from textual.app import App

from app.runs.workers import Workers
from app.wording.text import kept_line
from engine.errors import RunError
from engine.run.directory import RunDirectory, inspect

FINISHED, INTERRUPTED = 0, 130


class Leaving:
    """Leaves `app`. Runs count as running here if `workers` started them or they are in `watched`, folders of the
    runs that are open in the console."""

    def __init__(self, app: App[None], workers: Workers, watched: Callable[[], Iterable[Path]]) -> None:
        self._app = app
        self._workers = workers
        self._watched = watched
        self._stopping = False
        self.farewell: list[str] = []
        """Lines to print once the terminal is back."""
        self.sweeps: list[Path] = []
        """Folders of the sweeps that were started here; they go on in processes of their own."""

    def running(self) -> list[RunDirectory]:
        """Runs that are running: those started here, and the open ones."""
        runs = {run.path.absolute(): run for run in self._workers.running()}
        for path in self._watched():
            if _is_running(path):
                runs.setdefault(path.absolute(), RunDirectory(path))
        return list(runs.values())

    def last_words(self) -> list[str]:
        """The lines to print, with one for each sweep that goes on."""
        from app.runs.sweeps import queue_works

        going_on = [
            f"the sweep goes on: {folder}; to watch or stop it: steer-tui --outputs {quote(str(folder.parent.parent))}"
            for folder in self.sweeps
            if queue_works(folder)
        ]
        return self.farewell + going_on

    def ask(self) -> None:
        """Leave; ask first if a run is running."""
        from screens.leaving import LeaveScreen

        runs = self.running()
        if not runs:
            self._app.exit(return_code=FINISHED)
        elif not isinstance(self._app.screen, LeaveScreen) and not self._stopping:
            self._ask(runs, self._started_elsewhere(), FINISHED)

    def interrupt(self) -> None:
        """Ctrl+C: stop and keep, then leave; ask first where a run was started elsewhere. The second time: at once.
        Where none is running, leave as `q` does."""
        from screens.leaving import LeaveScreen

        runs = self.running()
        if self._stopping or not runs:
            if self._stopping:
                first = "left; the engine stops after its current item"
                self.farewell += [kept_line(run.path, first) for run in runs]
            self._app.exit(return_code=INTERRUPTED if self._stopping else FINISHED)
        elif not (elsewhere := self._started_elsewhere()):
            self._stop(INTERRUPTED)
        elif isinstance(self._app.screen, LeaveScreen):  # pressed again: leave at once, and stop nothing
            self._detach(INTERRUPTED)
        else:
            self._ask(runs, elsewhere, INTERRUPTED)

    def by_signal(self, number: signal.Signals) -> None:
        """SIGTERM or SIGHUP: the engine continues."""
        self._detach(128 + number)

    def _ask(self, runs: list[RunDirectory], elsewhere: list[RunDirectory], code: int) -> None:
        from screens.leaving import LeaveScreen

        def left(choice: str | None) -> None:
            if choice == "detach":
                self._detach(code)
            elif choice == "stop":
                self._stop(code)

        self._app.push_screen(LeaveScreen(runs, elsewhere), left)

    def _started_elsewhere(self) -> list[RunDirectory]:
        """Running runs that this console watches only: others may count on them."""
        started_here = {run.path.absolute() for run in self._workers.running()}
        return [run for run in self.running() if run.path.absolute() not in started_here]

    def _detach(self, code: int) -> None:
        for run in self.running():
            self.farewell.append(f"still running: {run.path}; to watch it: steer-tui {quote(str(run.path))}")
        self._app.exit(return_code=code)

    def _stop(self, code: int) -> None:
        """Stop what is running, wait for it, and leave."""
        from screens.leaving import LeftRun, WaitingScreen

        def leave(runs: list[LeftRun] | None) -> None:
            self.farewell += [run.line for run in runs or []]
            self._app.exit(return_code=code)

        self._stopping = True
        self._app.push_screen(WaitingScreen(self.running()), leave)


def _is_running(path: Path) -> bool:
    try:
        return inspect(path).alive
    except RunError:
        return False
