"""When a cluster counts as lost. None runs."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.config.scale import ScaleSection
from engine.errors import RunError
from engine.events import ClusterJoined, Notice
from engine.scale import cluster as module
from engine.scale.cluster import Cluster
from engine.scale.ray_processes import RayBackend, _Actor, _Mailbox
from tests.engine.scale.test_replica import Doubles
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


def test_a_cluster_is_looked_for_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, looks = SimpleNamespace(now=0.0), list[float]()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(module, "_is_reached", lambda head: looks.append(clock.now) or head == "h:2")
    joined = Cluster("h:1", "h:2")
    for clock.now in (100.0, 100.5, 100.75, 101.0, 101.5, 102.25):
        joined.check()
    assert looks == [100.0, 101.0, 102.25]


class Ray:
    """Ray's modules, as far as joining needs them: an address of the environment, a head that may want a token, and
    this machine's network address at which it may answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, wants_token: bool | None, reached: set[str]) -> None:
        self.joined: list[dict[str, object]] = []
        self.reached, self.asked = reached, list[str]()
        self.services = SimpleNamespace(
            get_ray_address_from_environment=lambda address, folder: "127.0.0.1:6379",
            get_node_ip_address=lambda: "10.0.0.5",
            resolve_ip_for_localhost=lambda host: "10.0.0.5",
        )
        code = "unauthenticated" if wants_token else "unavailable"

        class Refused(Exception):
            def code(self) -> str:
                return code

        def refuse(path: str) -> object:
            assert path == "/ray.rpc.NodeInfoGcsService/GetClusterId"

            def call(message: bytes, timeout: float) -> None:
                if wants_token is not None:
                    raise Refused

            return call

        @contextmanager
        def channel(address: str) -> Iterator[object]:
            self.asked.append(address)
            yield SimpleNamespace(unary_unary=refuse)

        grpc = SimpleNamespace(
            RpcError=Refused, Call=Refused, StatusCode=SimpleNamespace(UNAUTHENTICATED="unauthenticated"),
            insecure_channel=channel,
        )  # fmt: skip
        self.read: list[str] = []
        for name, one in {
            "grpc": grpc, "ray": SimpleNamespace(init=lambda **how: self.joined.append(how)),
            "ray._private": SimpleNamespace(services=self.services), "ray._private.services": self.services,
            "ray._raylet": SimpleNamespace(Config=SimpleNamespace(initialize=self.read.append)),
        }.items():  # fmt: skip
            monkeypatch.setitem(sys.modules, name, one)  # type: ignore[arg-type]
        monkeypatch.setattr(module, "_reach", self.reach)

    def reach(self, address: str) -> None:
        if address not in self.reached:
            raise ConnectionRefusedError


@pytest.mark.parametrize(
    ("address", "reached", "head", "alone"),
    [
        ("auto", {"127.0.0.1:6379"}, "127.0.0.1:6379", True),
        ("auto", {"127.0.0.1:6379", "10.0.0.5:6379"}, "127.0.0.1:6379", False),
        ("localhost:7", {"localhost:7"}, "localhost:7", True),
        ("head:7", {"head:7"}, "head:7", False),
        ("[::2]:7", {"[::2]:7"}, "[::2]:7", False),
        ("ray://127.0.0.1:7", {"127.0.0.1:7"}, "127.0.0.1:7", False),
    ],
)
@pytest.mark.parametrize("token", [True, False, None])
def test_a_cluster_is_joined_where_it_answers_and_with_the_token_that_it_wants(
    monkeypatch: pytest.MonkeyPatch,
    address: str,
    reached: set[str],
    head: str,
    alone: bool,
    token: bool | None,
) -> None:
    """One that this machine alone reaches is not opened to others; what Ray's client reaches cannot be asked."""
    monkeypatch.setenv("RAY_AUTH_MODE", "")  # so that it is as before in the end
    monkeypatch.delenv("RAY_AUTH_MODE")
    ray = Ray(monkeypatch, token, reached)
    assert module._connected(address) == head
    (how,) = ray.joined
    assert how["address"] == (address if "ray://" in address else head) and how["log_to_driver"] is False
    assert how.get("_node_ip_address") == ("127.0.0.1" if alone else None)
    assert ray.services.resolve_ip_for_localhost("127.0.0.1") == ("127.0.0.1" if alone else "10.0.0.5")
    asked = "ray://" not in address
    assert ray.asked == ([head] if asked else [])
    assert os.environ.get("RAY_AUTH_MODE") == ("token" if token and asked else None)
    assert ray.read == ([""] if token and asked else [])


def test_what_the_user_says_of_tokens_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    ray = Ray(monkeypatch, True, {"head:7"})
    module._connected("head:7")
    assert not ray.asked and os.environ["RAY_AUTH_MODE"] == "disabled"
    with pytest.raises(ConnectionRefusedError):
        module._connected("another:7")


def test_a_head_is_looked_for_at_its_host_and_port(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[object, ...]] = []

    def connect(address: tuple[str, int], timeout: float) -> SimpleNamespace:
        made.append((*address, timeout))
        if address[1] == 8:
            raise TimeoutError
        return SimpleNamespace(close=lambda: made.append(("closed",)))

    monkeypatch.setattr(module, "socket", SimpleNamespace(create_connection=connect))
    assert module._is_reached("[::1]:7") and not module._is_reached("h:8")
    assert made == [("::1", 7, module._REACH_SECONDS), ("closed",), ("h", 8, module._REACH_SECONDS)]


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


def test_a_stop_while_a_cluster_is_joined_is_not_cut_short_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray may have taken the signal over by then."""
    release, taken_back = threading.Event(), list[bool]()

    def stop() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_connected", lambda address: str(release.wait(10)))
    monkeypatch.setattr(module, "_take_back_stop_signal", lambda: taken_back.append(True))
    try:
        with pytest.raises(KeyboardInterrupt):
            module._connect("h:1", stop)
    finally:
        release.set()
    assert taken_back == [True]


def test_neither_ray_s_handler_nor_its_alarm_ends_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The handler in front of Python's goes where Python sets its handler again."""
    again: list[tuple[object, ...]] = []
    monkeypatch.setattr(signal, "signal", lambda *given: again.append(given))
    before = signal.alarm(100)
    try:
        module._take_back_stop_signal()
        assert signal.alarm(before) == 0, "no alarm is left"
    finally:
        signal.alarm(before)
    assert again == [(signal.SIGTERM, signal.getsignal(signal.SIGTERM))]


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


class Actors:
    """Ray with actors that run in this process: calls give their results at once, and what is asked of Ray is noted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, gpus: list[int]) -> None:
        self.options: list[dict[str, object]] = []
        self.waits, self.killed, self.delivered = list[float](), list[object](), list[object]()
        self.ready = True
        ray = SimpleNamespace(
            remote=self.remote, wait=self.wait, kill=self.killed.append, put=lambda work: ("put", work),
            get=lambda one: self.delivered.append(one) or one, get_gpu_ids=lambda: gpus,
            get_runtime_context=lambda: SimpleNamespace(get_node_id=lambda: "here"),
        )  # fmt: skip
        strategies = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node, soft: (node, soft))
        monkeypatch.setitem(sys.modules, "ray", ray)  # type: ignore[arg-type]
        monkeypatch.setitem(sys.modules, "ray.util.scheduling_strategies", strategies)  # type: ignore[arg-type]

    def remote(self, **options: object) -> object:
        self.options.append(options)
        return lambda kind: SimpleNamespace(remote=lambda *given: actor(kind(*given)))

    def wait(self, waited: list[object], timeout: float) -> tuple[list[object], list[object]]:
        self.waits.append(timeout)
        return (waited, []) if self.ready else ([], waited)


def actor(one: Any) -> Any:
    """Its methods are called by `remote`."""
    calls = {
        name: SimpleNamespace(remote=getattr(one, name)) for name in ("put", "take") if hasattr(one, name)
    }
    return SimpleNamespace(one=one, **calls)


def test_replicas_are_actors_that_report_to_a_mailbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the mailbox holds is asked for once, and with patience once more."""
    monkeypatch.setattr(Cluster, "join", lambda *given: Cluster("h:1", "h:2"))
    reached = iter((False, True))
    monkeypatch.setattr(module, "_is_reached", lambda head: next(reached))
    left: list[str] = []
    monkeypatch.setattr(Cluster, "leave", lambda self: left.append(self.head))
    ray = Actors(monkeypatch, gpus=[3])
    backend = RayBackend(ScaleSection(replicas=2, address="h:1", gpus_per_replica=0.5), "h:1", lambda: None)
    processes = [backend.new_process(number) for number in range(2)]
    own = {"num_cpus": 1, "num_gpus": 0.5, "max_restarts": 0}
    assert ray.options == [{"num_cpus": 0, "scheduling_strategy": ("here", True)}, own, own]
    assert backend.share("work") == ("put", "work")  # type: ignore[arg-type]
    told = [Notice(text="one"), Notice(text="two")]
    for process, event in zip(processes, told, strict=True):
        process.actor.one._send(event)
    assert backend.events(0.25) == told and ray.waits == [0.25, 0.25]
    assert backend.events(0) == [] and ray.waits == [0.25, 0.25, 0]
    ray.ready = False
    assert backend.events(0) == [] and backend._collecting == []
    for killed in ([], [backend._mailbox, *(one.actor for one in processes)]):
        backend.close(processes)
        assert ray.killed == killed
    assert left == ["h:2"] * 2


@pytest.mark.parametrize(
    ("raised", "lost"),
    [("RayActorError", True), ("WorkerCrashedError", True), ("NodeDiedError", True), ("ObjectLostError", True),
     ("OutOfMemoryError", True), ("RayTaskError", False)],
)  # fmt: skip
def test_what_ends_a_replica_is_a_loss_and_what_its_work_raises_is_none(
    monkeypatch: pytest.MonkeyPatch, raised: str, lost: bool
) -> None:
    names = "RayActorError", "WorkerCrashedError", "NodeDiedError", "ObjectLostError", "OutOfMemoryError"
    kinds = {name: type(name, (Exception,), {}) for name in (*names, "RayTaskError")}
    ray = SimpleNamespace(exceptions=SimpleNamespace(**kinds))
    monkeypatch.setitem(sys.modules, "ray", ray)  # type: ignore[arg-type]
    monkeypatch.setattr(Cluster, "join", lambda *given: Cluster("h:1", "h:2"))
    backend = RayBackend(ScaleSection(replicas=2, address="h:1"), "h:1", lambda: None)
    assert backend.is_loss(kinds[raised]("gone")) is lost


def test_a_lost_cluster_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cluster, "join", lambda *given: Cluster("h:1", "h:2"))
    looks: list[str] = []
    monkeypatch.setattr(Cluster, "check", lambda self: looks.append(self.head))
    RayBackend(ScaleSection(replicas=2, address="h:1"), "h:1", lambda: None).check()
    assert looks == ["h:2"]


@pytest.mark.parametrize(("gpus", "visible"), [([3, 1], "7"), ([], "")])
def test_an_actor_sees_its_gpus_alone_and_is_done_when_its_reports_are_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, gpus: list[int], visible: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    ray = Actors(monkeypatch, gpus)
    mailbox = SimpleNamespace(put=SimpleNamespace(remote=lambda event: f"sent {event.text}"))
    one = _Actor(mailbox)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == visible
    assert one.start(Doubles(), str(tmp_path / "folder")).gpus == list(map(str, gpus))
    assert Path.cwd() == tmp_path / "folder" and ray.delivered == ["sent opened"]
    assert one.do(3) == 6 and ray.delivered == ["sent opened", "sent item 3"]
    one._await_delivery()
    assert len(ray.delivered) == 2
    one.start(Doubles(), str(tmp_path / "none"))
    assert Path.cwd() == tmp_path / "folder", "a folder that this machine has not"
