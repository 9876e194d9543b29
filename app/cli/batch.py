"""`steer-tui batch`: a run without a console."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from app.cli.options import add_config, add_new_outputs, add_set, add_stages, default_config
from engine.errors import RunError


def add_options(parser: ArgumentParser) -> None:
    """The options of the command."""
    what = parser.add_mutually_exclusive_group()
    add_config(what)
    what.add_argument("--resume", metavar="RUN", help="go on with a run that did not finish")
    add_set(parser)
    add_stages(parser)
    add_new_outputs(parser)


def execute(options: Namespace) -> int:
    """Do it; the exit code."""
    from app.batch.run_batch import run_batch
    from app.choose_run import choose_run
    from app.runs.client import as_changes, prepare_resume, prepare_run
    from app.terminal.text_console import make_console

    if options.resume and options.set:
        raise RunError(
            what="a resumed run keeps its configuration", where="--set", hint="leave out --set, or --resume"
        )
    if options.resume:
        directory = choose_run(options.resume, Path(options.outputs or "outputs"))
        prepare_resume(directory, options.stages)
    else:
        overrides = [*options.set, *as_changes({"run.stages": options.stages})]
        directory = prepare_run(options.config or default_config(), overrides, options.outputs)
    return run_batch(directory, make_console(), make_console(stderr=True))


SUMMARY = "work on a run without a console, to its end"
DETAILS = (
    "What the run does is printed as lines, its results as tables. Ctrl+C stops it and keeps "
    "what is finished; --resume goes on there. Exit code 0: finished; 1: a stage failed; 2: wrong input; 130: "
    "interrupted."
)
EXAMPLE = "steer-tui batch --config configs/demo.yaml --stages mine,select,memory,eval --set online.L=4"
