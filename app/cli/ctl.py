"""`steer-tui ctl`: runs listed, watched and commanded from scripts."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from app.cli.options import RUN, add_outputs
from app.ctl.choices import STAGE_CHOICES, STAGE_HELP, STATES


def add_options(parser: ArgumentParser) -> None:
    """The options of the command."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, help: str, with_run: bool = True) -> ArgumentParser:
        command = commands.add_parser(name, help=help, description=help)
        if with_run:
            command.add_argument("run", metavar="RUN", help=RUN)
        command.add_argument("--json", action="store_true", help="JSON, one object per line")
        add_outputs(command)
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
    chosen.add_argument("run", metavar="RUN", help=RUN)
    chosen.add_argument("stage", metavar="STAGE", help="a stage of the run, such as eval")
    chosen.add_argument("--undo", action="store_true", help="take back that it is skipped, or the last one")
    events = add("events", "the run's events")
    events.add_argument("--type", action="append", metavar="NAME", help="only events of this type")
    events.add_argument("--since", type=int, default=0, metavar="SEQ", help="only events from this number on")
    events.add_argument("--follow", action="store_true", help="go on until no worker works on the run")
    waiting = add("wait", "wait until no worker works on the run")
    waiting.add_argument("--until", choices=STATES, help="wait for this state instead")
    waiting.add_argument("--timeout", type=float, metavar="S", help="seconds to wait at most")
    decided = add("decisions", "ESM's decisions, as CSV or JSON lines", with_run=False)
    decided.add_argument("run", nargs="+", metavar="RUN", help="runs: their folders, ids or names")
    decided.add_argument(
        "--filter", default="", metavar="TEXT", help='as in the console: "correct and alpha>0.5"'
    )


def execute(options: Namespace) -> int:
    """Do it; the exit code."""
    from app.ctl.commands import run_command

    return run_command(options)


SUMMARY = "list, watch and command runs from scripts"
DETAILS = (
    "RUN is a run's folder, its id, or an experiment's name (its newest run). `steer-tui ctl COMMAND --help` "
    "lists the options of a command. Exit code 0: done; 1: the run failed; 2: wrong input; 3: no worker works on the "
    "run, or it ended otherwise than it was waited for; 4: the time is up; 130: interrupted. app/README.md has the "
    "JSON forms."
)
EXAMPLE = "steer-tui ctl wait my-experiment --timeout 3600"
