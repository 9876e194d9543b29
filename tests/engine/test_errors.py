"""Errors cross processes whole, whatever their class is made with."""

from __future__ import annotations

import errno
import pickle
from pathlib import Path

import pytest

from engine.errors import (
    LONGEST,
    ConfigError,
    DataError,
    DiskError,
    ModelError,
    Problem,
    RunError,
    SteerError,
    disk_errors,
    first_line,
    full_disk_errors,
    reading_errors,
)
from engine.servers.client import ServerFailed
from tests.exactly import exactly


@pytest.mark.parametrize("kind", [SteerError, DataError, ModelError, RunError, DiskError])
def test_an_error_is_the_same_after_a_pickle(kind: type[SteerError]) -> None:
    error = kind(what="a", where="b", hint="c")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and str(again) == str(error) == "a (b): c"
    assert (again.what, again.where, again.hint, again.args) == ("a", "b", "c", ("a", "b", "c"))


def test_what_a_class_adds_is_kept() -> None:
    error = ConfigError([Problem("a.b", "1", "2"), Problem("c", "", "d")])
    again = pickle.loads(pickle.dumps(error))
    assert again.problems == error.problems and str(again) == str(error)
    failed = ServerFailed.__new__(ServerFailed, "w", "x", "y")
    failed.__dict__.update(what="w", where="x", hint="y", calls=3)
    assert pickle.loads(pickle.dumps(failed)).calls == 3


def test_an_error_is_never_long_and_holds_whole_letters() -> None:
    """What it quotes may be a file of any length."""
    error = SteerError(what=f"begin {'x' * 200_000} end", where="\ud800", hint="c")
    assert len(str(error)) < LONGEST + 100 and error.what.startswith("begin") and error.what.endswith("end")
    assert error.where == "?" and str(error).encode()
    assert f" … {200_010 - LONGEST:,} characters … " in error.what


FULL = "free some space (or raise the limit) and resume: everything finished is kept"
DENIED = "make it writable, or choose another folder with `run.outputs`"
NOWHERE = "nothing can be kept there: choose another folder with `run.outputs`"
TAKEN = "something else has this name: move it, or choose another folder with `run.outputs`"
HINTS = {
    FULL: "ENOSPC EDQUOT EFBIG",
    DENIED: "EACCES EPERM EROFS",
    NOWHERE: "ENOENT ENODEV",
    TAKEN: "EEXIST EINVAL ENXIO ENOTDIR EISDIR ENAMETOOLONG ELOOP",
    "put a copy in its place: `cp FILE COPY && mv COPY FILE`": "EMLINK",
    "check the disk": "EIO",
}


@pytest.mark.parametrize(("hint", "name"), [(hint, name) for hint in HINTS for name in HINTS[hint].split()])
def test_a_place_that_nothing_can_be_written_to_is_told(hint: str, name: str) -> None:
    """`--outputs /proc/x` says that it is not there, though its folder is. Of a full disk alone a reader is told."""
    error = OSError(getattr(errno, name), "no")
    said = exactly(f"cannot write: no (/proc/x): {hint}")
    with pytest.raises(DiskError, match=said), disk_errors(Path("/proc/x")):
        raise error
    full = pytest.raises(DiskError, match=said) if hint == FULL else pytest.raises(OSError, match="no")
    with full, full_disk_errors(Path("/proc/x")):
        raise error


def test_another_error_stays_what_it_is() -> None:
    for errors in (disk_errors, full_disk_errors):
        with pytest.raises(OSError, match="no memory"), errors(Path("/x")):
            raise OSError(errno.ENOMEM, "no memory")


def test_where_the_system_names_the_file_that_one_is_told() -> None:
    error = OSError(errno.ENOSPC, "no space", "/data/other")
    for errors in (disk_errors, full_disk_errors):
        with (
            pytest.raises(DiskError, match=exactly(f"cannot write: no space (/data/other): {FULL}")),
            errors(Path("/x")),
        ):
            raise error


def test_parts_of_an_error_have_room_for_4000_characters() -> None:
    assert SteerError(what="x" * 4000).what == "x" * 4000
    assert SteerError(what="x" * 4001).what == f"{'x' * 2000} … 1 characters … {'x' * 2000}"


def test_all_problems_of_a_configuration_are_told_with_their_number() -> None:
    """A value that is missing has none to be shown."""
    one, other = Problem("a.b", "1", "at most 0"), Problem("c", "", "a number")
    assert str(ConfigError([one])) == "a.b: found 1, expected at most 0 (configuration): correct this value"
    said = "a.b: found 1, expected at most 0; c: expected a number (configuration): correct these 2 values"
    assert str(ConfigError([one, other])) == said


@pytest.mark.parametrize(
    ("error", "line"),
    [(ValueError("\n \n two \nthree"), "two"), (KeyError(), "KeyError"), (ValueError(" \n"), "ValueError")],
)
def test_a_library_s_error_in_one_line(error: Exception, line: str) -> None:
    assert first_line(error) == line


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file", "/other"), "No such file"),
        (OSError("of the library"), "of the library"),
        (ValueError("one\ntwo"), "one"),
        (ValueError("x" * 300), "x" * 200),
        (KeyError("a"), "KeyError: 'a'"),
    ],
)
def test_why_a_file_cannot_be_read(error: Exception, why: str) -> None:
    """A kind of error that is not named stays what it is."""
    with (
        pytest.raises(DataError, match=exactly(f"no names: {why} (/x): run it again")),
        reading_errors(Path("/x"), "no names", "run it again", OSError, ValueError, KeyError),
    ):
        raise error
    with pytest.raises(type(error)), reading_errors(Path("/x"), "no names", "run it again", TypeError):
        raise error
