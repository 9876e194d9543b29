"""The panel of an error: what it gives to the clipboard, and the run that it resumes."""

from __future__ import annotations

from pathlib import Path

from textual import on
from textual.app import App
from textual.color import Color

from engine.errors import ConfigError, Problem, RunError
from screens.messages import ResumeRequested
from screens.panels.error_panel import ErrorPanel, Fault

FAULT = Fault("The run failed", "no room")


class Asked(App[None]):
    """Keeps which runs it was asked to resume."""

    def on_mount(self) -> None:
        self.runs: list[Path] = []

    @on(ResumeRequested)
    def _asked(self, message: ResumeRequested) -> None:
        self.runs.append(message.run_dir)


async def test_a_run_that_failed_is_resumed_from_the_panel() -> None:
    """Which closes then."""
    async with Asked().run_test() as pilot:
        await pilot.app.push_screen(ErrorPanel(FAULT, Path("outputs/demo/1")))
        assert "r" in pilot.app.screen.active_bindings
        await pilot.press("r")
        await pilot.pause()
        assert isinstance(pilot.app, Asked) and pilot.app.runs == [Path("outputs/demo/1")]
        assert len(pilot.app.screen_stack) == 1


async def test_its_frame_has_the_colour_of_errors() -> None:
    async with Asked().run_test() as pilot:
        await pilot.app.push_screen(ErrorPanel(FAULT))
        _, colour = pilot.app.screen.query_one("ErrorPanel > Vertical").styles.border_top
        assert colour == Color.parse(pilot.app.theme_variables["error"])


async def test_what_is_no_run_is_not_resumed() -> None:
    async with Asked().run_test() as pilot:
        await pilot.app.push_screen(ErrorPanel(FAULT))
        assert "r" not in pilot.app.screen.active_bindings
        await pilot.press("r")
        await pilot.pause()
        assert isinstance(pilot.app, Asked) and not pilot.app.runs
        assert len(pilot.app.screen_stack) == 2


def test_all_that_stands_in_the_panel_is_copied() -> None:
    """A line for each problem of a configuration, which names its place; nothing for what is not known."""
    problems = [Problem("online.L", "x", "a whole number"), Problem("task.name", "", "a name")]
    lines = Fault.of_error("Not started", ConfigError(problems)).as_text().splitlines()
    assert lines[:2] == ["Not started", "2 values in the configuration are wrong"]
    assert lines[2:4] == [f"  {problem}" for problem in problems]
    error = RunError(what="no room", where="a/b", hint="make some")
    assert Fault.of_error("Not started", error).as_text().splitlines() == [
        "Not started",
        "no room",
        "where: a/b",
        "how to fix: make some",
    ]
