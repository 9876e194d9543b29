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
)
from engine.servers.client import ServerFailed


@pytest.mark.parametrize("kind", [SteerError, DataError, ModelError, RunError, DiskError])
def test_an_error_is_the_same_after_a_pickle(kind: type[SteerError]) -> None:
    error = kind(what="a", where="b", hint="c")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and str(again) == str(error) == "a (b): c"
    assert (again.what, again.where, again.hint, again.args) == ("a", "b", "c", error.args)


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


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ENOTDIR, errno.ENOSPC, errno.EACCES, errno.EINVAL])
def test_a_place_that_nothing_can_be_kept_at_is_told(number: int) -> None:
    """`--outputs /proc/x` says that it is not there, though its folder is."""
    with pytest.raises(DiskError, match=r"cannot write: .* \(/proc/x\): "), disk_errors(Path("/proc/x")):
        raise OSError(number, "no")
