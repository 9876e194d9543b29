"""`steer-tui compare`: two runs, item by item."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from app.cli.options import RUN, add_outputs


def add_options(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("a", metavar="A", help=RUN)
    parser.add_argument("b", metavar="B", help="the run that is compared with it")
    add_outputs(parser)


def execute(options: Namespace) -> int:
    """Do it; the exit code."""
    from app.choose_run import choose_run
    from app.compared.print_comparison import print_comparison
    from app.terminal.text_console import make_console

    first, second = (choose_run(run, options.outputs).path for run in (options.a, options.b))
    return print_comparison(first, second, make_console())


SUMMARY = "compare two runs: changed fields, each method's figures"
DETAILS = (
    "Figures are over the items that both runs have; differences are B minus A. Nothing is written. Exit code "
    "0: compared; 2: one is not a run, or both are the same."
)
EXAMPLE = "steer-tui compare outputs/demo/20261122-140301-9f3c outputs/demo/20261123-090512-a41b"
