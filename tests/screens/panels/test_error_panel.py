"""What the panel of an error gives to the clipboard."""

from __future__ import annotations

from engine.errors import ConfigError, Problem, RunError
from screens.panels.error_panel import Fault


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
