"""The list of runs alone in an app, and folders of runs for it to list."""

from __future__ import annotations

from pathlib import Path

from textual import on
from textual.app import App
from textual.message import Message

from app.runs.run_list import RunList
from engine.events.verdict import Verdict
from screens.messages import CompareRequested, EventRequested, ResumeRequested
from screens.runs.screen import RunsScreen
from screens.widgets.key_line import keys_of


def esm_verdict(value: float, baseline: float = 0.635) -> Verdict:
    """ESM beside greedy on 200 examples."""
    difference = value - baseline
    return Verdict(
        method="esm", baseline="greedy", metric="accuracy", n=200, value=value, baseline_value=baseline,
        difference=difference, low=difference - 0.06, high=difference + 0.06, fixed=66, broken=0, cost=0.25,
    )  # fmt: skip


class RunsApp(App[None]):
    """Just the screen; notes what it asks for."""

    def __init__(self, outputs: Path) -> None:
        super().__init__()
        self.runs = RunsScreen(RunList(outputs))
        self.asked: list[Message] = []
        self.new_runs = 0

    def get_default_screen(self) -> RunsScreen:
        return self.runs

    @on(CompareRequested)
    @on(EventRequested)
    @on(ResumeRequested)
    def _asked(self, message: Message) -> None:
        self.asked.append(message)

    def action_new_run(self) -> None:
        self.new_runs += 1

    @property
    def words(self) -> list[str]:
        return [key.word for key in keys_of(self.runs)]

    def rows(self) -> list[str]:
        source = self.runs.source
        return ["  ".join(cell.text for cell in source.cells(row)) for row in range(len(source))]
