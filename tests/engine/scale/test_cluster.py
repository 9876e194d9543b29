"""When a cluster counts as lost. None runs."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace

import pytest

from engine.config.scale import ScaleSection
from engine.errors import RunError
from engine.events import ClusterJoined, Notice
from engine.scale import cluster as module
from engine.scale.cluster import Cluster
from engine.scale.ray_processes import RayBackend, _Mailbox
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


def test_a_cluster_is_waited_for_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Meanwhile it is asked again and again whether to go on."""
    clock, asked, release = SimpleNamespace(now=100.0), list[float](), threading.Event()

    def sleep(seconds: float) -> None:
        assert seconds == 0.05
        clock.now += 20.0

    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    monkeypatch.setattr(module, "_connected", lambda address: str(release.wait(10)))
    text = (
        "no Ray cluster can be joined at h:1: no answer in 60 s (scale.address): start one with `ray start --head` "
        "(same Python, Ray and steer-tui; set RAY_AUTH_MODE=token here, too, if it needs a token), or leave "
        "scale.address out: replicas then work on this machine"
    )
    try:
        with pytest.raises(RunError, match=exactly(text)):
            module._connect("h:1", lambda: asked.append(clock.now))
    finally:
        release.set()
    assert asked == [100.0, 120.0, 140.0, 160.0, 180.0]


def test_what_keeps_a_cluster_from_being_joined_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(address: str) -> str:
        raise ConnectionError("nobody there\nand more")

    monkeypatch.setattr(module, "_connected", fail)
    with pytest.raises(RunError, match="no Ray cluster can be joined at h:1: nobody there") as raised:
        module._connect("h:1", lambda: None)
    assert isinstance(raised.value.__cause__, ConnectionError) and "and more" not in raised.value.what
    monkeypatch.setattr(module, "_connected", lambda address: f"head of {address}")
    assert module._connect("h:1", lambda: None) == "head of h:1"


@pytest.mark.parametrize("answers", [True, False])
def test_a_cluster_that_is_gone_is_not_left(monkeypatch: pytest.MonkeyPatch, answers: bool) -> None:
    """Ray would wait for it; what it raises where it is there ends nothing."""
    asked: list[str] = []

    def shutdown() -> None:
        asked.append("shutdown")
        raise RuntimeError("in the middle of it")

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(shutdown=shutdown))  # type: ignore[arg-type]
    monkeypatch.setattr(module, "_is_reached", lambda head: asked.append(head) or answers)
    Cluster("h:1", "h:2").leave()
    assert asked == ["h:2", *(["shutdown"] if answers else [])]


@pytest.mark.parametrize(("gpus", "said"), [(0.0, "0"), (2.0, "2"), (0.5, "0.5")])
def test_what_a_cluster_needs_room_for_is_told(
    monkeypatch: pytest.MonkeyPatch, gpus: float, said: str
) -> None:
    def checkpoint() -> None: ...

    joined: list[object] = []
    monkeypatch.setattr(Cluster, "join", lambda *given: joined.append(given))
    backend = RayBackend(ScaleSection(replicas=3, address="h:1", gpus_per_replica=gpus), "h:1", checkpoint)
    assert joined == [("h:1", checkpoint)]
    assert backend.slow_start == (
        f"the cluster has no room (each needs a CPU and {said} GPUs) or they still load their models"
    )
    assert backend.joined == ClusterJoined(engine="ray", address="h:1", replicas=3, gpus_per_replica=gpus)


def test_what_replicas_report_is_taken_once_in_its_order() -> None:
    mailbox, reported = _Mailbox(), [Notice(text="one"), Notice(text="two"), Notice(text="three")]
    mailbox.put(reported[0])
    mailbox.put(reported[1])
    assert mailbox.take() == reported[:2]
    mailbox.put(reported[2])
    assert (mailbox.take(), mailbox.take()) == (reported[2:], [])
