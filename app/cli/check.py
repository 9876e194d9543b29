"""`steer-tui check`: is a configuration right, and is what it needs here?"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from app.cli.command import Command
from app.cli.options import DEFAULT_CONFIG, add_set, default_config


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help=f"configurations (default: {DEFAULT_CONFIG})"
    )
    add_set(parser)


def _check(options: Namespace) -> int:
    from app.doctor.check import run_check

    return run_check(options.files or [default_config()], options.set)


COMMAND = Command(
    name="check",
    summary="check configurations, and whether what they need is on this machine",
    details="Nothing runs, nothing is fetched. Exit code 0: all are right, even if data, models or keys are not here "
    "yet; 2: something has to be corrected.",
    example="steer-tui check my-esm.yaml --set online.L=4",
    add_options=_add_options,
    execute=_check,
)
