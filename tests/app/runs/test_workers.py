"""What is said of a worker that ended without a word."""

from __future__ import annotations

import signal

from app.runs.workers import how_it_ended


def test_a_signal_is_named() -> None:
    """`exit code -9` says nothing to somebody who does not know how Python counts signals."""
    killed = how_it_ended(-signal.SIGKILL)
    assert "from outside" in killed and "SIGKILL" in killed and "memory" in killed
    assert "memory" not in how_it_ended(-signal.SIGTERM)
    assert how_it_ended(-64 - 1).count("65") == 1
    assert "exit code 3" in how_it_ended(3)
