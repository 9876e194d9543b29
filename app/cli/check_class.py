"""`steer-tui check-class`: tries out a judge, reflector, controller, reader or comparing function of the user's own."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.testkit.trial import Seen

ROLE_NAMES = (
    "evolution.judge", "evolution.reflector", "slsm.judge", "slsm.controller", "answer.reader", "task.compare",
)  # fmt: skip


def add_options(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("role", choices=ROLE_NAMES, help="what it is used as: the field that names it")
    parser.add_argument("name", metavar="MODULE:CLASS", help="the class; for task.compare a function")
    parser.add_argument(
        "--seconds", type=float, default=60.0, metavar="S", help="in which a call has to return (default 60)"
    )


def execute(options: Namespace) -> int:
    """Do it; the exit code."""
    from app.wording.text import without_controls
    from engine.testkit.apart import apart

    def trials(begin: Callable[[str], None]) -> Sequence[Seen]:
        from engine.testkit.roles import try_class  # numpy and torch: imported only here

        return try_class(options.role, options.name, options.seconds, begin)

    seen = apart(trials)
    wrong = [one for one in seen if one.problem]
    lines = [f"{'wrong' if one.problem else 'ok':6}{one.trial}" for one in seen]
    for place, one in enumerate(seen):
        if one.problem:
            lines[place] += f": {one.problem}"
    summary = (
        f"{len(wrong)} of {len(seen)} trials went wrong"
        if wrong
        else f"fit for {options.role}: {len(seen)} trials"
    )
    sys.stdout.write(without_controls("\n".join([*lines, summary])) + "\n")
    return 2 if wrong else 0


SUMMARY = "try out a judge, reflector, controller, reader or comparing function of your own"
DETAILS = (
    "The class is used as a run would use it: on ordinary, empty, odd and huge texts, twice, and in threads, "
    "in a process of its own. Its module has to be importable: an installed package, or a folder in PYTHONPATH. Exit "
    "code 0: nothing is wrong; 2: something is."
)
EXAMPLE = "steer-tui check-class evolution.judge my_judges:Exact"
