"""`steer-tui report`: a report as one file, or on standard output."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from app.cli.options import RUN, add_outputs


def add_options(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("run", metavar="RUN", help=RUN)
    forms = parser.add_mutually_exclusive_group()
    for form, words in (("html", "as one HTML file (the default)"), ("md", "as Markdown")):
        forms.add_argument(
            f"--{form}", dest="form", action="store_const", const=form, default="html", help=words
        )
    parser.add_argument("--output", type=Path, metavar="FILE", help="the file (default: standard output)")
    add_outputs(parser)


def execute(options: Namespace) -> int:
    """Do it; the exit code."""
    from app.choose_run import choose_run
    from app.report.run_report import report
    from app.report.source import read_run
    from app.report.writer import safe, text_of, write_document
    from app.wording.text import without_controls

    source = read_run(choose_run(options.run, options.outputs))
    document = safe(report(source), source.path)
    if options.output is None:
        sys.stdout.write(text_of(document, options.form))
        return 0
    for path in write_document(document, options.form, options.output):
        sys.stdout.write(without_controls(f"{path}\n"))
    return 0


SUMMARY = "write a report: figures, plots, marked cases, how to repeat the run"
DETAILS = (
    "It says what was reached, each method beside its baseline, with 95% intervals. The HTML form is one file "
    "that loads nothing."
)
EXAMPLE = "steer-tui report outputs/demo/20261122-140301-9f3c --output report.html"
