"""When a cluster counts as lost. None runs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from engine.errors import RunError
from engine.scale import cluster as module
from engine.scale.cluster import Cluster
from tests.exactly import exactly


def test_a_cluster_is_lost_after_20_seconds_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer between two silences begins the count anew."""
    clock, answers = SimpleNamespace(now=0.0), {0.0: True, 115.0: True}
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(module, "_is_reached", lambda head: answers.get(clock.now, False))
    joined = Cluster("h:1", "h:2")
    for clock.now in (100.0, 110.0, 115.0, 120.0, 130.0, 140.0):
        joined.check()
    clock.now = 141.0
    with pytest.raises(
        RunError, match=exactly("the Ray cluster at h:1 is gone (scale.address): resume when it runs again")
    ):
        joined.check()
