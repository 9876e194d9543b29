"""What people write on runs: title, tags, and whether a run is put aside; kept in `labels.json` of the outputs folder.

Runs themselves are not touched by it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from engine.errors import DataError
from engine.files import write_atomic
from engine.regular_file import LARGEST_RECORD, file_stamp, read_regular

FILE = "labels.json"
_VERSION = 1


class Label(msgspec.Struct, frozen=True, omit_defaults=True):
    """`archived`: not listed unless asked for."""

    title: str = ""
    tags: tuple[str, ...] = ()
    archived: bool = False


class _Labels(msgspec.Struct, kw_only=True):
    version: int = _VERSION
    runs: dict[str, Label] = {}
    """By `<name>/<run id>`, the run's folder below the outputs folder."""


NO_LABEL = Label()


class Labels:
    """The labels of the runs below one folder; the file is read again when it has changed."""

    def __init__(self, outputs: Path) -> None:
        self.path = outputs / FILE
        self.wrong = ""
        """What is wrong with the file, in words; then no run has a label, and nothing is written."""
        self._stamp: tuple[int, int] | None = None
        self._runs: dict[str, Label] = {}

    def of(self, run: Path) -> Label:
        """The label of a run's folder, as last read."""
        return self._runs.get(_key(run), NO_LABEL)

    def read(self) -> None:
        """Read the file again if it has changed."""
        stamp = file_stamp(self.path)
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._runs, self.wrong = _read(self.path).runs, ""
            except DataError as error:
                self._runs, self.wrong = {}, str(error)

    def put(self, run: Path, label: Label) -> None:
        """Write a run's label. Raises DataError where the file is no list of labels (it is left as it is), DiskError
        where it cannot be written."""
        labels = _read(self.path)
        labels.runs.pop(_key(run), None)
        if label != NO_LABEL:
            labels.runs[_key(run)] = label
        write_atomic(self.path, msgspec.json.format(msgspec.json.encode(labels), indent=2) + b"\n")
        self.read()


def label_of(run: Path) -> Label:
    """The label of a run's folder, read now."""
    labels = Labels(run.absolute().parent.parent)
    labels.read()
    return labels.of(run.absolute())


def tags_of(text: str) -> tuple[str, ...]:
    """`draft, gpu draft` as tags: each once, in order; separated by commas or spaces."""
    return tuple(dict.fromkeys(text.replace(",", " ").split()))


def _key(run: Path) -> str:
    return f"{run.parent.name}/{run.name}"


def _read(path: Path) -> _Labels:
    hint = "correct the file or move it away; until then titles, tags and archived runs are not shown"
    try:
        labels = msgspec.json.decode(read_regular(path, LARGEST_RECORD), type=_Labels)
    except FileNotFoundError:
        return _Labels()
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(what=f"these are not labels of runs: {error}", where=str(path), hint=hint) from error
    if labels.version > _VERSION:
        what = f"labels of version {labels.version}; this program knows {_VERSION}"
        raise DataError(what=what, where=str(path), hint="update steer-tui")
    return labels
