"""What tests of several processes read, made by the first that needs it."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from filelock import FileLock

Made = TypeVar("Made")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], Made]) -> Made:
    """What `make` returned for an empty folder, which it may fill, in whichever process of this run that was."""
    own = factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name
    kept = folder.with_suffix(".pickle")
    with FileLock(folder.with_suffix(".lock")):
        if not kept.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of an attempt that failed
            folder.mkdir()
            kept.write_bytes(pickle.dumps(make(folder)))
        return pickle.loads(kept.read_bytes())
