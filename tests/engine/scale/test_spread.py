"""Replicas on this machine, and which items are given again after replicas have died."""

from __future__ import annotations

import os
import pickle
import time
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine import events as ev
from engine.config.scale import ScaleSection
from engine.errors import DataError, ModelError, RunError
from engine.run.gate import StopRequested
from engine.scale.local_processes import LocalBackend, _answer
from engine.scale.replica import Replica
from engine.scale.replicas import LostItem, Replicas, Team
from engine.scale.spread import _Spreading, spreading
from engine.scale.work import WorkContext, in_process
from engine.versions import versions
from tests.engine.scale.processes import descendants, living
from tests.engine.scale.works import DiesOnce, Fails, Squares


def test_an_item_that_only_waited_at_replicas_that_died_is_not_blamed() -> None:
    """Number 7 waits again and again behind one that kills; itself it is at work only in the last five deaths."""
    nobody: Any = SimpleNamespace(backend=LocalBackend(ScaleSection(replicas=2)))
    spreading = _Spreading(nobody, [], nobody)

    def dies(started: bool) -> None:
        spreading._take_back([LostItem(7, "seven", started)])
        assert spreading.waiting.popleft() == (7, "seven"), "it is given again"

    for started in [False] * 9 + [True] * 4:
        dies(started)
    with pytest.raises(
        RunError, match=r"5 replicas died, one after the other, on the same item .number 7.*worker.log"
    ):
        dies(started=True)


def test_a_stop_says_how_many_batches_are_done_again() -> None:
    """Results that wait for their turn, and what replicas hold."""
    told: list[str] = []
    members = [SimpleNamespace(held={4: "d", 5: "e"}), SimpleNamespace(held={6: "f"})]
    team: Any = SimpleNamespace(members=members, backend=SimpleNamespace(check=lambda: None))

    def checkpoint() -> None:
        raise StopRequested

    context: Any = SimpleNamespace(checkpoint=checkpoint, notice=told.append)
    spreading = _Spreading(team, [], context)
    spreading.done = {2: "b", 3: "c"}
    with pytest.raises(StopRequested):
        spreading._checkpoint()
    assert told == ["batches to do again after a resume: 5 (replicas had them)"]


def test_two_replicas_of_this_machine_give_results_in_order_and_survive_a_death(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Item 3 kills the first that gets it. What each reports arrives before its result; both end with the run."""
    monkeypatch.setattr("engine.scale.local_processes._LIBRARIES", [])  # these works need none
    events: list[ev.Event] = []
    context = WorkContext(lambda section: pytest.fail("loads a model"), lambda: None, events.append)
    with spreading(ScaleSection(replicas=2)) as spread:
        assert list(spread(DiesOnce(str(tmp_path / "died"), fatal=3), context)(range(8))) == [
            -n for n in range(8)
        ]
        (lost,) = [event for event in events if isinstance(event, ev.ReplicaLost)]
        assert (lost.life, lost.reason) == (1, "its process ended (exit code -9)")
        for n, square in enumerate(spread(Squares(), context)(range(4))):
            assert square == n * n and ev.Notice(text=f"item {n}") in events
        with pytest.raises(DataError, match="nothing there"):
            list(spread(Fails("open"), context)(range(4)))
        children = descendants(os.getpid())
        assert len(living(children)) >= 2
    assert events[0] == ev.ClusterJoined(engine="local", replicas=2)
    until = time.monotonic() + 10
    while living(children & _replicas(events)) and time.monotonic() < until:
        time.sleep(0.01)
    assert not living(_replicas(events))


def _replicas(events: list[ev.Event]) -> set[int]:
    return {event.pid for event in events if isinstance(event, ev.ReplicaStarted)}


def test_one_replica_without_an_address_is_the_worker_itself() -> None:
    with spreading(ScaleSection()) as spread:
        assert spread is in_process


class _Dying:
    """A process that is ready, or not, as the list says, and dies when it is given an item."""

    def __init__(self, ready: bool) -> None:
        self._ready = ready

    def start(self, work: Any, folder: str) -> Future[Any]:
        opened = SimpleNamespace(models=[], versions=versions(), node="here", pid=1, gpus=[], seconds=0.5)
        return _told(opened if self._ready else OSError("gone"))

    def do(self, item: Any) -> Future[Any]:
        return _told(OSError("gone"))


def _told(outcome: Any) -> Future[Any]:
    future: Future[Any] = Future()
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
    return future


def test_replicas_are_given_up_after_three_deaths_in_a_row_before_they_were_ready() -> None:
    """One that was ready begins the count anew, and its own death does not count."""
    lives = iter([False, False, True, True, True, True, False, False, False])
    backend: Any = SimpleNamespace(
        new_process=lambda number: _Dying(next(lives)), share=lambda work: work, events=lambda patience: [],
        is_loss=lambda error: isinstance(error, OSError), log="w.log", slow_start="",
    )  # fmt: skip
    events: list[ev.Event] = []
    team = Team(
        Replicas(1, backend),
        Squares(),
        WorkContext(lambda section: pytest.fail("loads a model"), lambda: None, events.append),
    )
    (member,) = team.members
    with pytest.raises(RunError, match=r"^3 replicas in a row died before they were ready: gone"):
        for _ in range(99):
            team.arrivals(0.0)
            if member.ready:
                team.give(member, 0, 0)
    assert next(lives, None) is None
    assert [event.life for event in events if isinstance(event, ev.ReplicaStarted)] == [3, 4, 5, 6]


class _NeedsTwo(Exception):
    """Cannot be read back: pickle gives it one argument."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first}, {second}")


@pytest.mark.parametrize(
    ("raised", "arrives"),
    [
        (ZeroDivisionError("by zero"), ZeroDivisionError("by zero")),
        (_NeedsTwo("a", "b"), RuntimeError("_NeedsTwo: a, b")),
    ],
)
def test_an_error_of_a_replica_arrives_with_its_traceback(raised: Exception, arrives: Exception) -> None:
    replica = Replica(lambda event: None)

    def do(item: object) -> object:
        raise raised

    replica._do = do
    _, error = pickle.loads(pickle.dumps(_answer(replica, ("item",), [])))
    assert (type(error), str(error)) == (type(arrives), str(arrives))
    assert "in do\n    raise raised" in error.__notes__[0]


def test_work_in_this_process_asks_before_each_item_whether_to_go_on() -> None:
    asked = [0]

    def checkpoint() -> None:
        asked[0] += 1

    context = WorkContext(lambda section: pytest.fail("loads a model"), checkpoint, lambda event: None)
    for done, square in enumerate(in_process(Squares(), context)(range(3)), 1):
        assert (square, asked) == ((done - 1) ** 2, [done])


def test_weights_that_differ_between_machines_are_refused() -> None:
    backend: Any = SimpleNamespace(new_process=lambda number: None)
    replicas = Replicas(2, backend)
    events: list[ev.Event] = []
    context = WorkContext(lambda section: pytest.fail("loads a model"), lambda: None, events.append)

    def opened(node: str, *fingerprints: str) -> Any:
        models = [SimpleNamespace(name=f"m{number}", fingerprint=f) for number, f in enumerate(fingerprints)]
        return SimpleNamespace(node=node, models=models, versions=versions())

    replicas.check(opened("one", "a"), context)
    replicas.check(opened("two", "a", "b"), context)
    assert [event.name for event in events] == ["m0", "m1"]  # type: ignore[attr-defined]
    with pytest.raises(ModelError, match=r"^m1 has other weights on three than elsewhere"):
        replicas.check(opened("three", "a", "c"), context)


def test_versions_that_differ_between_machines_are_told_once_for_each() -> None:
    backend: Any = SimpleNamespace(new_process=lambda number: None)
    replicas = Replicas(3, backend)
    events: list[ev.Event] = []
    context = WorkContext(lambda section: pytest.fail("loads a model"), lambda: None, events.append)
    for node, changed in (("one", {}), ("two", {"torch": "1.0", "numpy": "1.1"}), ("two", {"torch": "1.0"})):
        opened: Any = SimpleNamespace(node=node, models=[], versions=versions() | changed)
        replicas.check(opened, context)
    (notice,) = events
    assert isinstance(notice, ev.Notice) and notice.level == "warning"
    assert notice.text == "two has other versions of torch, numpy: results may differ by machine"
