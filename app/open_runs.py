"""What is open above the list of runs: a run with its screens, those it was opened from, comparisons and sweeps."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on
from textual.app import App

from app.methods.place import Place
from app.runs.workers import Workers
from engine.errors import RunError, SteerError
from engine.run.directory import RunDirectory
from screens.messages import (
    CompareRequested,
    ErrorUnforeseen,
    EventRequested,
    RunRequested,
    SweepRequested,
    SystemRequested,
)
from screens.runs.screen import RunsScreen

if TYPE_CHECKING:
    from app.run_screens import RunScreens
    from app.runs.session import RunSession


class OpenRuns(App[None]):
    """An app that watches a run at a time, above the list of runs."""

    def __init__(self) -> None:
        super().__init__()
        self.session: RunSession | None = None
        self.engine_workers = Workers()
        self._parents: list[tuple[RunSession | None, int]] = []
        """Runs from which another was opened, with the number of screens that belong to them."""

    @cached_property
    def run_screens(self) -> RunScreens:
        """The screens of the open run. They are imported behind the first paint, or when the first run is opened."""
        from app.run_screens import RunScreens

        return RunScreens(self)

    @property
    def home(self) -> RunsScreen:
        """The list of runs."""
        screen = self.screen_stack[0]
        assert isinstance(screen, RunsScreen)
        return screen

    def watched(self) -> list[Path]:
        """Folders of the open run and of those it was opened from."""
        sessions = (self.session, *(parent for parent, _ in self._parents))
        return [session.run_dir for session in sessions if session is not None]

    def show_error(self, title: str, error: Exception, run: Path | None = None) -> None:
        """Show an error in a panel that stays until it is closed. `run`: the run that failed."""
        from screens.panels.error_panel import ErrorPanel, Fault

        self.push_screen(ErrorPanel(Fault.of_error(title, error), run))

    # ------------------------------------------------------------ opening

    def open_run(self, path: Path, method: str = "", place: Place | None = None) -> None:
        """Watch a run, whether it is running or not, on the screen of `method` at a place, or else on its overview."""
        try:
            RunDirectory(path).read()
        except RunError as error:
            self.show_error("The run was not opened", error)
            return
        self.home.runs.add_folder(path.absolute().parent.parent)
        self.close_run()
        self._show_run(path, method, place)

    def open_event(self, path: Path, seq: int | None) -> None:
        """Watch a run at the item of an event, by its number in the log."""
        method, place = "", None
        if seq is not None:
            from screens.event_places import event_place

            try:
                method, place = event_place(path, seq)
            except (SteerError, OSError) as error:
                self.show_error("The item was not opened", error)
                return
        if self.session is not None and self.session.run_dir.absolute() == path.absolute():
            self.run_screens.show(self.session, method, place)
        else:
            self.open_run(path, method, place)

    @on(ErrorUnforeseen)
    def _error_unforeseen(self, message: ErrorUnforeseen) -> None:
        self.show_error("This was not foreseen", message.error)

    @on(EventRequested)
    def _event_requested(self, message: EventRequested) -> None:
        self.open_event(message.run_dir, message.seq)

    @on(RunRequested)
    def _run_requested(self, message: RunRequested) -> None:
        """Watch another run; leaving it leads back to what is open now."""
        self._parents.append((self.session, len(self.screen_stack)))
        self._show_run(message.run_dir, message.system, message.place)

    def _show_run(self, path: Path, method: str, place: Place | None) -> None:
        from app.runs.session import RunSession

        self.session = RunSession(path, has_started_worker=self.engine_workers.is_running)
        self.run_screens.open(self.session, method, place)

    @on(CompareRequested)
    def _compare_requested(self, message: CompareRequested) -> None:
        from screens.compare.screen import CompareScreen

        self.push_screen(CompareScreen(*message.runs))

    @on(SweepRequested)
    def _sweep_requested(self, message: SweepRequested) -> None:
        self.open_sweep(message.folder)

    def open_sweep(self, folder: Path) -> None:
        """Show the sweep in a folder."""
        from screens.sweep.screen import SweepScreen

        self.push_screen(SweepScreen(folder))

    # ------------------------------------------------------------ moving among the screens of the open run

    @on(SystemRequested)
    def _system_requested(self, message: SystemRequested) -> None:
        if self.session is not None:
            self.run_screens.show(self.session, message.name, message.place, message.followed)

    def action_up(self) -> None:
        """One level up: from a method to the overview of its run, from there to the list of runs."""
        if self.session is not None and not self.run_screens.up(self.session):
            self.action_detach()

    # ------------------------------------------------------------ closing

    def action_detach(self) -> None:
        """Show the list of runs, or what the run was opened from; the engine continues."""
        self._back_to_parent() if self._parents else self.close_run()

    def close_run(self) -> None:
        """Back to the list, whatever is open above it. The engine continues."""
        self.run_screens.leave()
        while len(self.screen_stack) > 1:
            self.pop_screen()
        if self.session is not None:
            self.home.select(self.session.run_dir)
            self.session.close()
            self.session = None
        for parent, _ in self._parents:
            if parent is not None:
                parent.close()
        self._parents.clear()

    def _back_to_parent(self) -> None:
        """From a run to what it was opened from, as that was left: a comparison, a sweep or another run."""
        parent, depth = self._parents.pop()
        while len(self.screen_stack) > depth:
            self.pop_screen()
        if self.session is not None:
            self.session.close()
        self.session = parent
