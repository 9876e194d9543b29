"""What is started from the console: runs, resumed runs and sweeps, and what became of their workers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from textual import on

from app.leaving import Leaving
from app.open_runs import OpenRuns
from app.runs.client import prepare_resume
from app.worker_failures import WorkerFailures, ended_error
from engine.errors import SteerError
from engine.run.directory import RunDirectory
from screens.messages import ResumeRequested


class StartedRuns(OpenRuns):
    """An app that starts workers, and knows them while it runs."""

    def __init__(self, outputs: Path | None = None) -> None:
        super().__init__()
        self.outputs = outputs
        self.leaving = Leaving(self, self.engine_workers, self.watched)
        self._failures = WorkerFailures(self.engine_workers)

    def start_worker(self, directory: RunDirectory) -> bool:
        """Start a worker on a new or unfinished run; returns whether it was started."""
        try:
            if directory.read().attempts:
                prepare_resume(directory)
            self.engine_workers.start(directory)
        except (SteerError, OSError) as error:
            self.show_error("The run was not started", error)
            return False
        if self.session is not None:
            self.session.poll_now()
        return True

    def show_failures(self) -> None:
        """Show the error of workers that failed without an event in their log."""
        for ended in self._failures.look(self.session):
            self.show_error("The engine ended", ended_error(ended), ended.directory.path)

    def ask_for_run(self, config: Path | None = None, changes: Sequence[str] = ()) -> None:
        """Open the dialog that starts a run or a sweep."""
        from screens.new_run import NewRunScreen

        self.push_screen(NewRunScreen(config, self.outputs, changes), self._begin)

    def action_new_run(self) -> None:
        """Open the dialog that starts a run."""
        self.ask_for_run()

    def _begin(self, begun: RunDirectory | Path | None) -> None:
        if isinstance(begun, Path):
            self._begin_sweep(begun)
        elif begun is not None and self.start_worker(begun):
            self.open_run(begun.path)

    def _begin_sweep(self, folder: Path) -> None:
        """Start the process that works on a sweep, and show the sweep."""
        from app.runs.sweeps import start_queue

        try:
            start_queue(folder)
        except (SteerError, OSError) as error:
            self.show_error("The sweep was not started", error)
            return
        self.leaving.sweeps.append(folder)
        self.home.runs.add_folder(folder.parent.parent)
        self.open_sweep(folder)

    @on(ResumeRequested)
    def _resume_requested(self, message: ResumeRequested) -> None:
        if not self.start_worker(RunDirectory(message.run_dir)):
            return
        if self.session is None:
            self.open_run(message.run_dir)
        else:
            self.notify("A worker resumes the run.")
