"""A panel with what went wrong, where, and how to fix it; it stays until it is closed, and can be copied."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.widgets import Static

from app.keys.commands import DIALOG, PANEL, RESUME, bindings
from app.wording.text import counted
from engine.errors import ConfigError, Problem, SteerError
from engine.events import StageFailed
from engine.run.directory import RunStatus
from screens.messages import ResumeRequested
from screens.panels.dialog import Dialog


@dataclass(frozen=True)
class Fault:
    """An error as the panel shows it. `problems`: of a configuration, each with its place."""

    title: str
    what: str
    where: str = ""
    hint: str = ""
    traceback: str = ""
    problems: tuple[Problem, ...] = ()

    @classmethod
    def of_error(cls, title: str, error: Exception) -> Fault:
        """From an exception; the type is named if it is not a SteerError."""
        if isinstance(error, ConfigError):
            count = len(error.problems)
            what = f"{counted(count, 'values')} in the configuration {'is' if count == 1 else 'are'} wrong"
            return cls(title, what, hint=error.hint, problems=tuple(error.problems))
        if isinstance(error, SteerError):
            return cls(title, error.what, error.where, error.hint)
        what = f"{type(error).__name__}: {error}"
        return cls(title, what, hint="this is a bug in steer-tui: please report it")

    @classmethod
    def of_failure(cls, event: StageFailed) -> Fault:
        """From a run's log."""
        title = f"Stage {event.stage} failed" if event.stage else "The run failed"
        return cls(title, event.what, event.where, event.hint, event.traceback)

    @classmethod
    def of_status(cls, status: RunStatus) -> Fault:
        """From a run's folder."""
        hint = "correct what it names (values are in config.yaml there); r resumes the run, finished work is kept"
        return cls("The run failed", status.failure, str(status.directory.path), hint)

    def as_text(self) -> str:
        """The panel as plain text."""
        parts = [self.title, self.what, *(f"  {problem}" for problem in self.problems)]
        parts += [f"where: {self.where}"] if self.where else []
        parts += [f"how to fix: {self.hint}"] if self.hint else []
        return "\n".join(part for part in [*parts, self.traceback] if part)


class ErrorPanel(Dialog[None]):
    """Shows a fault until it is closed. `run`: the folder of the run that failed, which can be resumed from here."""

    BINDINGS = bindings(PANEL, (RESUME,), DIALOG)

    def __init__(self, fault: Fault, run: Path | None = None) -> None:
        super().__init__(f"✗ {fault.title}", "-error")
        self.fault, self._run = fault, run

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "resume" or self._run is not None

    def contents(self) -> ComposeResult:
        yield Static(fault_table(self.fault), markup=False)

    def action_copy(self) -> None:
        """Copy the text of the panel."""
        self.app.copy_to_clipboard(self.fault.as_text())
        self.notify("Copied.")

    def action_resume(self) -> None:
        """Ask for a worker."""
        assert self._run is not None, "else the key is not there"
        self.app.post_message(ResumeRequested(self._run))
        self.dismiss()


def fault_table(fault: Fault) -> Table:
    """What, where, how to fix it, and each problem of a configuration."""
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(ratio=1)
    table.add_row("what", Text(fault.what))
    for number, problem in enumerate(fault.problems, start=1):
        table.add_row(f"{number:>4}", _problem(problem))
    if fault.where:
        table.add_row("where", Text(fault.where))
    if fault.hint:
        table.add_row("how to fix", Text(fault.hint, style="bold"))
    if fault.traceback:
        table.add_row("trace", Text(fault.traceback.rstrip(), style="dim"))
    return table


def _problem(problem: Problem) -> Text:
    """Where it stands, what stands there, what may stand there."""
    text = Text().append(problem.where, "bold")
    if problem.value:
        text.append("\nfound ", "dim").append(problem.value).append(", expected ", "dim")
    else:
        text.append("\nexpected ", "dim")
    return text.append(problem.allowed)
