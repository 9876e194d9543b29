"""`steer-tui sweep`: many settings without a console."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.options import add_config, add_new_outputs, add_set, add_stages, count, default_config
from engine.errors import RunError

if TYPE_CHECKING:
    from engine.sweep.sweep import SweepFolder


def add_options(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.usage = "%(prog)s SPEC [SPEC ...] [options]\n       %(prog)s --resume SWEEP"
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "specs", nargs="*", default=[], metavar="SPEC", help="a field and its values, such as online.L=3,5,8"
    )
    what.add_argument("--resume", metavar="SWEEP", help="go on with a sweep that did not finish")
    add_config(parser)
    add_set(parser, "change fields of the configuration for all runs")
    add_stages(parser)
    add_new_outputs(parser)
    parser.add_argument("--jobs", type=_jobs, default=1, metavar="N", help="runs at a time (default: 1)")
    parser.add_argument("--most", type=count, metavar="N", help="allow so many runs (default: at most 100)")
    parser.add_argument(
        "--choose-on",
        metavar="SPLIT",
        help="the split that ESM's settings are compared on (default: dev or validation, where the data set has one); "
        "the chosen setting then runs once on the configuration's own split",
    )


def _jobs(text: str) -> int:
    jobs = count(text)
    if jobs < 1:
        raise ArgumentTypeError("expected 1 or more")
    return jobs


def execute(options: Namespace) -> int:
    """Do it; the exit code."""
    from app.sweep.run_sweep import run_sweep
    from app.terminal.text_console import make_console
    from engine.sweep.sweep import find_sweep

    if options.resume and (options.config or options.set or options.stages):
        raise RunError(
            what="a resumed sweep keeps its settings",
            where="--resume",
            hint="leave out --config, --set and --stages",
        )
    if options.resume:
        folder = find_sweep(options.resume, Path(options.outputs or "outputs"))
    else:
        folder = _prepared(options)
    return run_sweep(folder, make_console(), make_console(stderr=True))


def _prepared(options: Namespace) -> SweepFolder:
    from app.runs.client import as_changes
    from engine.sweep.grammar import MOST_RUNS, read_axes
    from engine.sweep.prepare import prepare_sweep

    axes = read_axes(options.specs, MOST_RUNS if options.most is None else options.most)
    overrides = [*options.set, *as_changes({"run.stages": options.stages, "run.outputs": options.outputs})]
    config = options.config or default_config()
    return prepare_sweep(
        config, options.specs, axes, overrides, jobs=options.jobs, choose_on=options.choose_on
    )


SUMMARY = "run many settings and compare them; stages that they share are done once"
DETAILS = (
    "Each combination of the values is a run. 3,5,8 are these values, 0..2 is 0, 1 and 2, 0.5..4:4 are 4 "
    "values equally far apart, 0.5..4:4log 4 values each the same multiple of the one before."
)
EXAMPLE = (
    "steer-tui sweep online.L=3,5,8 online.k_scale=0.5..4:4 run.seed=0..2 --config configs/demo.yaml --jobs 2"
)
