"""`steer-tui run`: the console."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from app import garbage
from app.cli.options import add_config, add_new_outputs, add_set, default_config
from engine.errors import RunError


def add_console_options(container: Any) -> None:
    """All options but which run and which configuration; `container`: a parser, or a group of options."""
    add_set(container, "open the dialog of a new run with these changes of the configuration")
    add_new_outputs(container)


def add_options(parser: ArgumentParser) -> None:
    """The options of the command."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "run", nargs="?", metavar="RUN", help="the run: its folder, id or name; RUN@EVENT: at an event"
    )
    add_config(what)
    add_console_options(parser)


def execute(options: Namespace) -> int:
    """Do it; the exit code."""
    from engine.run.directory import find_runs

    if options.run and options.set:
        raise RunError(
            what="a run has its own configuration", where="--set", hint="name a configuration: --config FILE"
        )
    _require_terminal()
    outputs = Path(options.outputs) if options.outputs else None
    run, event = at_event(options.run or "")
    matches = find_runs(run, outputs or Path("outputs")) if run else []
    if len(matches) == 1:
        matches[0].read()
    if event is not None:
        from screens.event_places import event_place

        if len(matches) > 1:
            raise RunError(
                what=f"{len(matches)} runs have this name, and an event belongs to one run",
                where=f"{run}@{event}",
                hint=f"name the run's folder, such as {matches[0].path}@{event}",
            )
        event_place(matches[0].path, event)
    with garbage.put_off():
        from app.shell import First, run_console

        if len(matches) > 1:  # which of them is meant is for the user to say
            place = matches[0].path.parent.parent
            return run_console(place, First(choose_from=[run.path for run in matches]))
        config = options.config or (default_config() if options.set else None)
        path = matches[0].path if matches else None
        return run_console(outputs, First(path, event, config, options.set))


def _require_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise RunError(
            what="the console needs a terminal",
            where="standard input or output is not a terminal",
            hint="run without a console: steer-tui batch",
        )
    if os.environ.get("TERM") == "dumb":
        raise RunError(
            what="the console needs a terminal that can place text",
            where="TERM is dumb",
            hint="set TERM to what your terminal is, or run without a console: steer-tui batch",
        )


def at_event(text: str) -> tuple[str, int | None]:
    """`outputs/demo/x@4711`: the run, and the number of an event in its log."""
    run, at, number = text.rpartition("@")
    if at and run and number.isascii() and number.isdigit() and not Path(text).exists():
        return run, int(number[:18])
    return text, None


SUMMARY = "open the console; the same as `steer-tui` without a command"
DETAILS = (
    "Without RUN it lists all runs; with --config or --set it opens the dialog that starts a run. RUN is "
    "watched while it is at work, and replayed when it is finished; several runs of a name are listed. RUN@EVENT opens "
    "the item of an event, by its number in the log."
)
EXAMPLE = "steer-tui run --config configs/demo.yaml --set online.L=4"
