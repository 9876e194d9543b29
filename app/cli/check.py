"""`steer-tui check`: is a configuration right, and is what it needs here?"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from app.cli.options import DEFAULT_CONFIG, add_set, default_config


def add_options(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help=f"configurations (default: {DEFAULT_CONFIG})"
    )
    add_set(parser)


def execute(options: Namespace) -> int:
    """Do it; the exit code."""
    from app.doctor.check import run_check

    return run_check(options.files or [default_config()], options.set)


SUMMARY = "check configurations, and whether what they need is on this machine"
DETAILS = (
    "Nothing runs, nothing is fetched. Exit code 0: all are right, even if data, models or keys are not here "
    "yet; 2: something has to be corrected."
)
EXAMPLE = "steer-tui check my-esm.yaml --set online.L=4"
