"""What is said of a worker that ended without a word."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.runs.workers import Workers, how_it_ended
from engine.run.directory import RunDirectory


def test_a_signal_is_named() -> None:
    """`exit code -9` says nothing to somebody who does not know how Python counts signals."""
    killed = how_it_ended(-signal.SIGKILL)
    assert "from outside" in killed and "SIGKILL" in killed and "memory" in killed
    assert "memory" not in how_it_ended(-signal.SIGTERM)
    assert how_it_ended(-64 - 1).count("65") == 1
    assert "exit code 3" in how_it_ended(3)


def test_a_worker_is_running_until_it_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    monkeypatch.setattr("app.runs.workers.start_worker", lambda directory: process)
    workers = Workers()
    assert not workers.is_running(tmp_path)
    workers.start(RunDirectory(tmp_path))
    assert workers.is_running(tmp_path) and not workers.is_running(tmp_path / "other")
    process.communicate(b"\n")
    assert not workers.is_running(tmp_path)
