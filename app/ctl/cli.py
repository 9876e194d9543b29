"""The command line of `steer-tui ctl`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from app.choose_run import choose_run
from app.ctl.decisions import FORMATS, Query, decisions, group
from app.ctl.events import events
from app.ctl.orders import NoWorker, order
from app.ctl.output import BAD_INPUT, DONE, INTERRUPTED, NO_WORKER, write_error
from app.ctl.runs import list_runs, show_run
from app.ctl.stages import STAGE_CHOICES, STAGE_HELP, stage
from app.ctl.wait import STATES, wait
from engine.errors import RunError, SteerError
from engine.run.directory import RunDirectory

_EPILOG = """\
RUN is a run's folder, its id, or an experiment's name (its newest run). Exit codes: 0 done; 1 the run failed; 2 wrong
input; 3 no worker works on the run, or it ended otherwise than it was waited for; 4 the time is up; 130 interrupted.
The JSON forms are told in app/README.md.
"""
Command = Callable[[RunDirectory, argparse.Namespace], int]


def run_ctl(arguments: Sequence[str]) -> int:
    """Do what the command line says; returns the exit code."""
    options = make_parser().parse_args(arguments)
    outputs = Path(options.outputs)
    try:
        if options.command == "list":
            return list_runs(outputs, options.state, options.json)
        if options.command == "decisions":
            return decisions(_runs(options, outputs), _query(options))
        directory = choose_run(options.run, outputs)
        return _COMMANDS[options.command](directory, options)
    except SteerError as error:
        write_error(error, options.json)
        return NO_WORKER if isinstance(error, NoWorker) else BAD_INPUT
    except BrokenPipeError:  # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        return INTERRUPTED


_COMMANDS: dict[str, Command] = {
    "show": lambda run, options: show_run(run, options.json),
    "pause": lambda run, options: order(run, "pause", options.json),
    "unpause": lambda run, options: order(run, "continue", options.json),
    "stop": lambda run, options: order(run, "stop_after" if options.after else "stop", options.json),
    "stage": lambda run, options: stage(run, options.choice, options.stage, options.undo, options.json),
    "events": lambda run, options: events(run, options.type, options.since, options.follow, options.json),
    "wait": lambda run, options: wait(run, options.until, options.timeout, options.json),
}


def _runs(options: argparse.Namespace, outputs: Path) -> list[RunDirectory]:
    """The runs that are named, each once."""
    found = [run for name in options.run for run in _named(name, options.group, outputs)]
    return list({run.path.resolve(): run for run in found}.values())


def _named(name: str, as_group: bool, outputs: Path) -> list[RunDirectory]:
    return group(name, outputs) if as_group else [choose_run(name, outputs)]


def _query(options: argparse.Namespace) -> Query:
    form = options.format or ("jsonl" if options.json else "csv")
    if options.json and form != "jsonl":
        raise RunError(what="--json means jsonl", where=f"--format {form}", mend="leave one of them out")
    return Query(options.filter, options.whole, form, options.output)


def make_parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    parser = argparse.ArgumentParser(
        prog="steer-tui ctl",
        description="List, watch and command runs from scripts.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, help: str, with_run: bool = True) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=help, description=help)
        if with_run:
            command.add_argument("run", metavar="RUN", help="the run's folder, id or name")
        command.add_argument("--json", action="store_true", help="JSON, an object a line")
        command.add_argument("--outputs", default="outputs", metavar="DIR", help="folder of the runs")
        return command

    listing = add("list", "all runs, the newest first", with_run=False)
    listing.add_argument("--state", action="append", choices=STATES, help="only runs in this state")
    add("show", "a run: state, stages with their figures, failure")
    add("pause", "pause the engine after its current item")
    add("unpause", "end the pause")
    stop = add("stop", "stop the engine after its current item; finished work is kept")
    stop.add_argument(
        "--after", action="store_true", help="stop where the unit of work ends (an iteration, a stage)"
    )
    chosen = add("stage", "begin a stage again, skip it, make it the last one, or stop it", with_run=False)
    chosen.add_argument("choice", choices=STAGE_CHOICES, help=STAGE_HELP)
    chosen.add_argument("run", metavar="RUN", help="the run's folder, id or name")
    chosen.add_argument("stage", metavar="STAGE", help="a stage of the run, such as eval")
    chosen.add_argument("--undo", action="store_true", help="take back that it is skipped, or the last one")
    told = add("events", "the run's events")
    told.add_argument("--type", action="append", metavar="NAME", help="only events of this type")
    told.add_argument("--since", type=int, default=0, metavar="SEQ", help="only events from this number on")
    told.add_argument("--follow", action="store_true", help="go on until no worker works on the run")
    waiting = add("wait", "wait until no worker works on the run")
    waiting.add_argument("--until", choices=STATES, help="wait for this state instead")
    waiting.add_argument("--timeout", type=float, metavar="S", help="seconds to wait at most")
    decided = add("decisions", "ESM's decisions, as CSV, JSON lines or Parquet", with_run=False)
    decided.add_argument("run", nargs="+", metavar="RUN", help="runs: their folders, ids or names")
    decided.add_argument(
        "--group", action="store_true", help="RUN is a group: all runs of this name, tag or sweep"
    )
    decided.add_argument("--format", choices=FORMATS, help="default: csv, with --json: jsonl")
    decided.add_argument("--output", default="", metavar="FILE", help="default: standard output")
    decided.add_argument(
        "--filter", default="", metavar="TEXT", help='as in the console: "correct and alpha>0.5"'
    )
    decided.add_argument(
        "--whole", action="store_true", help="as JSON lines: whole events, with candidates and texts"
    )
    return parser
