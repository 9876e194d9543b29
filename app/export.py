"""Tables and pictures of the screen as files, in the run's own folder where that can be written."""

from __future__ import annotations

import csv
import io
import os
import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from textual.app import App
from textual.widget import Widget

from app.textual_internals import lay_out
from engine.files import write_atomic
from engine.spreadsheet import cell

_WEB_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


def export_path(run_dir: Path, name: str, suffix: str) -> Path:
    """A new file's name under `exports/` of the run, or of the working folder where the run is read-only."""
    for base in (run_dir, Path.cwd(), Path.home()):
        if os.access(base, os.W_OK):
            folder = base / "exports"
            if folder.is_symlink():  # in a run from elsewhere it may lead anywhere
                continue
            folder.mkdir(exist_ok=True)
            return _fresh(folder / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}", suffix)
    raise PermissionError(
        f"no folder to write to: {run_dir}, the working folder and the home folder are read-only"
    )


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> int:
    """Write a table, whole or not at all; the number of rows. What is missing is an empty field; no
    text is a formula to a spreadsheet."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(map(cell, header))
    count = 0
    for row in rows:
        writer.writerow(["" if value is None or value != value else cell(_plain(value)) for value in row])
        count += 1
    write_atomic(path, text.getvalue())
    return count


def picture_of(app: App[Any]) -> str:
    """The screen as SVG, without the short messages that lie over it."""
    racks = list(app.screen.query("ToastRack"))
    with app.batch_update():  # nothing of this is sent to the terminal
        _show(app, racks, False)
        try:
            return app.export_screenshot(title="steer-tui")
        finally:
            _show(app, racks, True)


def _show(app: App[Any], racks: list[Widget], shown: bool) -> None:
    for rack in racks:
        rack.display = shown
    lay_out(app.screen)


def write_picture(path: Path, svg: str) -> None:
    """Write a screenshot without the web fonts it names: opening a picture should load nothing from the network."""
    write_atomic(path, _WEB_FONT.sub("", svg))


def _plain(value: object) -> object:
    return ("yes" if value else "no") if isinstance(value, bool) else value


def _fresh(stem: Path, suffix: str) -> Path:
    path, n = stem.with_name(stem.name + suffix), 1
    while path.exists():
        n += 1
        path = stem.with_name(f"{stem.name}-{n}{suffix}")
    return path
