"""A run, or an item of it, as files that can be sent: Markdown, and one HTML file that opens offline."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from app.blocks.block import Document
from app.export import export_path
from app.methods.source import CaseSource
from app.report.case import case_document
from app.report.item_words import item_words
from app.report.run_report import report
from app.report.source import read_run
from app.report.writer import safe, write_document
from app.runs.notes import Entry
from engine.events import Event
from engine.run.directory import RunDirectory
from screens.run_session import Session

_LONGEST_NAME = 60


def write_report(run_dir: Path) -> list[Path]:
    """Write the report on a run, of its log up to now, into its `exports/`; the files. Raises SteerErrors, OSError."""
    return _write(report(read_run(RunDirectory(run_dir))), run_dir, "report")


def write_item(session: Session, event: Event, notes: Sequence[Entry]) -> list[Path]:
    """Write the item of an event with its notes into `exports/` of the run; the files. Raises OSError, DiskError."""
    source = CaseSource(session.run_dir, session.state, session.read)
    name = re.sub(r"[^A-Za-z0-9]+", "-", item_words(event)).strip("-")[:_LONGEST_NAME] or "item"
    return _write(case_document(event, source, notes), session.run_dir, name)


def _write(document: Document, run_dir: Path, name: str) -> list[Path]:
    document = safe(document, run_dir)
    html = export_path(run_dir, name, ".html")
    markdown = html.with_suffix(".md")
    return [*write_document(document, "html", html), *write_document(document, "md", markdown)]
