"""How ctl writes: a JSON object a line, or plain words. Control codes of files and models never reach a terminal."""

from __future__ import annotations

import json
import sys
from typing import Any

from app.wording.text import error_line, without_controls
from engine.errors import SteerError

DONE, FAILED, BAD_INPUT, NO_WORKER, TIME_IS_UP = 0, 1, 2, 3, 4
"""Exit codes. `NO_WORKER`: nothing works on the run, or it ended otherwise than it was waited for."""

VERSION = 1
"""Of all forms of ctl."""


def write_form(form: str, fields: dict[str, Any]) -> None:
    """A JSON object that names its form, on a line."""
    write_json({"form": f"steer-tui {form}", "version": VERSION, **fields})


def write_json(fields: dict[str, Any]) -> None:
    """A JSON object on a line; whatever a terminal might obey is written as an escape."""
    sys.stdout.write(json.dumps(fields, ensure_ascii=True) + "\n")
    sys.stdout.flush()


def write_line(text: str) -> None:
    """A line of words."""
    sys.stdout.write(" ".join(without_controls(text).splitlines()) + "\n")
    sys.stdout.flush()


def write_error(error: SteerError, as_json: bool) -> None:
    """An error on standard error: what, where, how to fix it."""
    if as_json:
        fields = {"what": error.what, "where": error.where, "mend": error.hint}
        line = json.dumps({"form": "steer-tui error", "version": VERSION, **fields}, ensure_ascii=True)
    else:
        line = without_controls(error_line(error.what, error.where, error.hint))
    sys.stderr.write(line + "\n")


def write_warning(text: str) -> None:
    """A line of words on standard error: what was asked for is there, but not all of it."""
    sys.stderr.write(without_controls(text) + "\n")
