"""What is said, and the exit status, where the console is left."""

from __future__ import annotations

import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.leaving import Leaving
from app.runs.workers import Workers
from engine.run.directory import RunDirectory


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_stops_nothing_and_is_the_exit_status(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    """As shells have it: 128 plus the signal, 15 or 1."""
    statuses: list[int] = []
    app = cast(Any, SimpleNamespace(exit=lambda return_code: statuses.append(return_code)))
    workers = cast(Workers, SimpleNamespace(running=lambda: [RunDirectory(tmp_path / "1")]))
    leaving = Leaving(app, workers, list)
    leaving.by_signal(number)
    assert statuses == [status]
    assert leaving.last_words() == [
        f"still running: {tmp_path / '1'}; to watch it: steer-tui {tmp_path / '1'}"
    ]
