"""Errors that a user can cause or correct: each says what is wrong, where, and how to correct it."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.json_texts import whole

LONGEST = 4000
"""Characters of each part of an error: what a file or a server says may be of any length."""


class SteerError(Exception):
    """Base of the family. Shown as `what (where): mend`, never as a traceback alone."""

    def __init__(self, *, what: str, where: str = "", hint: str = "") -> None:
        what, where, hint = _kept(what), _kept(where), _kept(hint)
        super().__init__(what, where, hint)
        self.what = what
        self.where = where
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        """For pickling between processes: restored without `__init__`, whose arguments differ from class to class."""
        return _restored, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        where = f" ({self.where})" if self.where else ""
        hint = f": {self.hint}" if self.hint else ""
        return f"{self.what}{where}{hint}"


def _kept(text: str) -> str:
    """`text` as logs and screens can hold it: not too long, and without halves of letters, which no file can hold."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} … {len(text) - LONGEST:,} characters … {text[-LONGEST // 2 :]}"
    return whole(text)


def _restored(kind: type[SteerError], args: tuple[object, ...], state: dict[str, object]) -> SteerError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


def first_line(error: BaseException) -> str:
    """What a library's error says, in one line; its type where it says nothing."""
    lines = (line.strip() for line in str(error).splitlines())
    return next((line for line in lines if line), type(error).__name__)


@dataclass(frozen=True)
class Problem:
    """A problem of a configuration: the field, its value, and the allowed values. Without a field, `allowed` is all."""

    where: str
    value: str
    allowed: str

    @property
    def words(self) -> str:
        """What was read and what is expected, without the field."""
        value = f"found {self.value}, " if self.value else ""
        return f"{value}expected {self.allowed}" if self.where else self.allowed

    def __str__(self) -> str:
        return f"{self.where}: {self.words}" if self.where else self.words


class ConfigError(SteerError):
    """Raised for a configuration, with all its `problems`."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        count = len(self.problems)
        super().__init__(
            what="; ".join(map(str, self.problems)),
            where="configuration",
            hint="correct this value" if count == 1 else f"correct these {count} values",
        )


def wrong_value(where: str, value: str, allowed: str) -> ConfigError:
    """The error about a single value."""
    return ConfigError([Problem(where, value, allowed)])


class DataError(SteerError):
    """A file that is missing, damaged, or holds wrong values."""


class RunError(SteerError):
    """A run that cannot go on: its folder is invalid or used by another worker, or a part of it failed."""


class ModelError(SteerError):
    """A model that cannot be loaded, or lacks a requested capability."""


class ModelAbsent(ModelError):
    """A model that is not on this machine, though the configuration is right."""


class DiskError(SteerError):
    """A file that cannot be written; finished work is on disk."""


@contextmanager
def reading_errors(path: Path, what: str, hint: str, *kinds: type[Exception]) -> Iterator[None]:
    """Turn errors of these kinds while reading `path` into a DataError: `what`, and why."""
    try:
        yield
    except kinds as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise DataError(what=f"{what}: {why or _reason(error)}", where=str(path), hint=hint) from error


def _reason(error: Exception) -> str:
    """The first line of what it says; with its type where that alone says little."""
    text = str(error).partition("\n")[0][:200]
    return text if isinstance(error, (ValueError, OSError)) else f"{type(error).__name__}: {text}"


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_NOWHERE = {errno.ENOENT, errno.ENODEV}
_IN_THE_WAY = {
    errno.EEXIST,
    errno.EINVAL,
    errno.ENXIO,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.ELOOP,
}


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn the operating system's errors while writing `path` into a DiskError."""
    try:
        yield
    except OSError as error:
        hint = _hint(error)
        if hint is None:
            raise
        raise _disk_error(error, path, hint) from error


@contextmanager
def full_disk_errors(path: Path) -> Iterator[None]:
    """Turn only the error of a full disk into a DiskError: for code that also reads files of its own."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise _disk_error(error, path, str(_hint(error))) from error


def _hint(error: OSError) -> str | None:
    if error.errno in _FULL:
        return "free some space (or raise the limit) and resume: everything finished is kept"
    if error.errno in _DENIED:
        return "make it writable, or choose another folder with `run.outputs`"
    if error.errno in _IN_THE_WAY:
        return "something else has this name: move it, or choose another folder with `run.outputs`"
    if error.errno in _NOWHERE:
        return "nothing can be kept there: choose another folder with `run.outputs`"
    if error.errno == errno.EMLINK:
        return "put a copy in its place: `cp FILE COPY && mv COPY FILE`"
    return "check the disk" if error.errno == errno.EIO else None


def _disk_error(error: OSError, path: Path, hint: str) -> DiskError:
    where = error.filename if isinstance(error.filename, str) else str(path)
    return DiskError(what=f"cannot write: {error.strerror}", where=where, hint=hint)
