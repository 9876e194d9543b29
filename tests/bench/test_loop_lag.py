"""How late a clock is."""

from __future__ import annotations

import pytest

from tests.bench.loop_lag import LoopLag


def test_how_late_the_loop_is_in_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Due every 0.1 s: twice in time, once early, then 4 and 250 ms late. Of these five in order, 0, 0, 0, 4, 250, the
    third is the median."""
    lag, now = LoopLag(), 0.0
    assert str(lag) == "p50 0 ms, p95 0 ms, max 0 ms late", "before anything is known"
    for seconds in (7.0, 0.1, 0.1, 0.05, 0.104, 0.35):
        now += seconds
        monkeypatch.setattr("tests.bench.loop_lag.time.perf_counter", lambda now=now: now)
        lag.tick()
    assert str(lag) == "p50 0 ms, p95 250 ms, max 250 ms late"
    assert lag.percentile(0.6) == pytest.approx(4.0)
