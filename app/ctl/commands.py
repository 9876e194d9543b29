"""What each command of `steer-tui ctl` does, with its exit code."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from app.choose_run import choose_run
from app.ctl.decisions import decisions
from app.ctl.events import events
from app.ctl.orders import NoWorker, send_and_report
from app.ctl.output import BAD_INPUT, DONE, NO_WORKER, write_error
from app.ctl.runs import list_runs, show_run
from app.ctl.stages import stage
from app.ctl.wait import wait
from engine.errors import SteerError
from engine.run.directory import RunDirectory

_Action = Callable[[RunDirectory, Namespace], int]


def run_command(options: Namespace) -> int:
    """Do what the command line says; returns the exit code."""
    outputs: Path = options.outputs
    try:
        if options.command == "list":
            return list_runs(outputs, options.state, options.json)
        if options.command == "decisions":
            return decisions(_runs(options, outputs), options.filter, options.json)
        directory = choose_run(options.run, outputs)
        return _COMMANDS[options.command](directory, options)
    except SteerError as error:
        write_error(error, options.json)
        return NO_WORKER if isinstance(error, NoWorker) else BAD_INPUT
    except BrokenPipeError:  # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


_COMMANDS: dict[str, _Action] = {
    "show": lambda run, options: show_run(run, options.json),
    "pause": lambda run, options: send_and_report(run, "pause", options.json),
    "unpause": lambda run, options: send_and_report(run, "continue", options.json),
    "stop": lambda run, options: send_and_report(
        run, "stop_after" if options.after else "stop", options.json
    ),
    "stage": lambda run, options: stage(run, options.choice, options.stage, options.undo, options.json),
    "events": lambda run, options: events(run, options.type, options.since, options.follow, options.json),
    "wait": lambda run, options: wait(run, options.until, options.timeout, options.json),
}


def _runs(options: Namespace, outputs: Path) -> list[RunDirectory]:
    """The runs that are named, each once."""
    matches = [choose_run(name, outputs) for name in options.run]
    return list({run.path.resolve(): run for run in matches}.values())
