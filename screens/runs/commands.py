"""What the keys do with the run under the cursor: open, resume, pause, stop, compare it. The console does it."""

from __future__ import annotations

from pathlib import Path

from textual import on

from screens.messages import CompareRequested, EventRequested, ResumeRequested, SweepRequested
from screens.runs.keeping import Keeping
from screens.runs.source import sweep_of
from screens.widgets.tables.virtual_table import VirtualTable

_ORDERS = {"pause": ("running", "hung"), "continue": ("paused",), "stop": ("running", "hung", "paused")}
"""The states of a run in which it can be given an order."""


class RunCommands(Keeping):
    """The part of the list of runs that asks for something to be done with a run."""

    @property
    def _sweep(self) -> Path | None:
        """The sweep under the cursor, where its row stands for all its runs."""
        return self.source.sweep(self.table.cursor)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether the key does something with the run under the cursor."""
        row = self.selected
        match action:
            case "resume_run":
                return row is not None and row.resumable
            case "order":
                return row is not None and row.state in _ORDERS[str(parameters[0])]
            case "show_error":
                return row is not None and bool(row.status.failure)
            case "trash":
                return row is not None and not row.working
            case "mark" | "note":
                return row is not None
            case "fold":
                return self._sweep is not None
            case "open_sweep":
                return row is not None and row.record.sweep is not None
            case "notes":
                return bool(self.source.runs)
            case "back":
                return bool(self._filter_text)
            case "undo":
                return bool(self.trashed)
            case "compare":
                return len(self.source.rows) > 1
            case "filter":  # while the list is read, too: else the letters behind it would be commands
                return bool(self.source.rows) or not self.read_once
            case _:
                return True

    @on(VirtualTable.Selected)
    def _open(self) -> None:
        if self.selected is not None:
            self.post_message(EventRequested(self.selected.path))
        elif (sweep := self._sweep) is not None:
            self.post_message(SweepRequested(sweep))

    def action_fold(self) -> None:
        """List the runs of a sweep, or hide them again."""
        if (sweep := self._sweep) is not None:
            self.source.toggle_fold(sweep)
            self.arranged()

    def action_open_sweep(self) -> None:
        """Show the sweep of the run."""
        if (sweep := sweep_of(self.chosen)) is not None:
            self.post_message(SweepRequested(sweep))

    def action_resume_run(self) -> None:
        """Ask for a worker."""
        self.post_message(ResumeRequested(self.chosen.path))

    def action_order(self, command: str) -> None:
        """Pause the engine, end the pause, or stop it."""
        # With all that watches a run; not before the first paint.
        from app.runs.command_sender import command_run

        command_run(self.app, self.chosen.status.directory, command)

    def action_show_error(self) -> None:
        """Show why it failed."""
        from screens.panels.error_panel import ErrorPanel, Fault

        self.app.push_screen(ErrorPanel(Fault.of_status(self.chosen.status), self.chosen.path))

    def action_compare(self) -> None:
        """Ask for the comparison of the two marked runs."""
        runs = list(self.source.marked)
        if len(runs) == 1 and self.selected is not None and self.selected.path not in runs:
            runs.append(self.selected.path)
        if len(runs) == 2:
            self.post_message(CompareRequested((runs[0], runs[1])))
        else:
            self.notify("Two runs are compared: mark one with m, go to another one, and press c.")
