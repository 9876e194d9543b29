"""Commands to runs that are not open, and what the user is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.runs import command_sender
from app.runs.command_sender import choose_for_run, command_run
from app.runs.orders import UserMessage
from engine.run.directory import RunDirectory, StageRecord
from engine.run.stage_choices import StageChange
from tests.two_runs import make_run


class Console:
    """Keeps what it is told, and does at once what a thread asks of it."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []

    def notify(self, text: str, **more: Any) -> None:
        self.told.append((text, more))

    def call_from_thread(self, call: Callable[..., None], *arguments: Any, **more: Any) -> None:
        call(*arguments, **more)


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Threads do their work at once here."""
    monkeypatch.setattr(
        command_sender.threading, "Thread", lambda target, **more: SimpleNamespace(start=target)
    )
    return Console()


def test_a_choice_is_told_and_followed_by_what_comes_next(console: Any, tmp_path: Path) -> None:
    run = RunDirectory(make_run(tmp_path, "a", [], status="stopped"))
    followed: list[bool] = []
    skip = StageChange("skip", "eval", ("eval",))
    choose_for_run(console, run, skip, lambda: followed.append(bool(run.read().stages["eval"].skipped)))
    assert console.told == [("Skipped: eval.", {"markup": False})] and followed == [True]
    choose_for_run(console, run, StageChange("skip", "eval", ("eval",), undo=True), lambda: None)
    assert not run.read().stages["eval"].skipped
    console.told.clear()
    choose_for_run(console, run, StageChange("skip", "mine", ()), lambda: followed.append(False))
    [(text, more)] = console.told
    assert text.startswith("the run has no stage `mine`") and followed == [True]
    assert more == {"severity": "error", "markup": False}


def test_what_is_done_again_is_told_with_the_time_that_it_took(console: Any, tmp_path: Path) -> None:
    """Which the record loses with the choice."""
    run = RunDirectory(make_run(tmp_path, "a", [], status="finished"))
    record = run.read()
    record.stages["eval"] = StageRecord(status="finished", seconds=65)
    run.write(record)
    choose_for_run(console, run, StageChange("again", "eval", ()), lambda: None)
    assert console.told == [("Done again: eval, which took 1:05 last time.", {"markup": False})]


def test_the_answer_to_a_command_names_its_run(console: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        command_sender, "send_command", lambda run, command: UserMessage(f"{command}: no", "warning")
    )
    command_run(console, RunDirectory(Path("outputs/demo/1")), "pause")
    assert console.told == [("pause: no", {"title": "1", "severity": "warning", "markup": False})]
