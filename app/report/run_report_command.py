"""`steer-tui --report RUN…`: a report as one file, or on standard output."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from app.choose_run import choose_run
from app.report.run_report import report
from app.report.source import read_run
from app.report.writer import safe, text_of, write_document
from app.text import without_controls
from engine.errors import RunError


def write_report(runs: Sequence[str], outputs: Path, kind: str, output: str | None) -> int:
    """Write the report on runs; `output` None: to standard output. The exit code. Raises SteerErrors."""
    directories = [choose_run(run, outputs) for run in runs]
    folders = [directory.path.resolve() for directory in directories]
    if len(set(folders)) < len(folders):
        raise RunError(what="a run is named twice", where=" ".join(runs), mend="name each run once")
    sources = [read_run(directory) for directory in directories]
    document = safe(report(sources), [source.path for source in sources])
    if output is None:
        sys.stdout.write(text_of(document, kind))
        return 0
    for path in write_document(document, kind, Path(output)):
        sys.stdout.write(without_controls(f"{path}\n"))
    return 0
