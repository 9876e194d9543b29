"""The run that a command's words mean; where several are meant, the newest, and the user is informed."""

from __future__ import annotations

import sys
from pathlib import Path

from app.wording.text import without_controls
from engine.run.directory import RunDirectory, find_runs


def choose_run(text: str, outputs: Path) -> RunDirectory:
    """The newest run meant by a path, a run id, or an experiment's name or folder; a line on standard error says so
    where there are others.

    Raises RunError if there is none, or if a later version wrote it."""
    newest, *others = find_runs(text, outputs)
    if others:
        notice = f"{text}: {len(others) + 1} runs; this is the newest, {newest.path}"
        sys.stderr.write(f"{without_controls(notice)}\n")  # folders may be named by others
    newest.read()
    return newest
