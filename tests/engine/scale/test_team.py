"""What replicas send while they do a stage's work: results, reports, versions, deaths."""

from __future__ import annotations

import os
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from engine import events as ev
from engine.errors import DataError, ModelError, RunError
from engine.scale.replicas import LostItem, Replicas, Team, _cause
from engine.scale.work import WorkContext
from engine.versions import versions
from tests.engine.scale.stand_ins import Place
from tests.engine.scale.works import Squares


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
    other = {"torch": "1.0", "numpy": "1.1"}
    without_numpy = {name: version for name, version in versions().items() if name != "numpy"}
    for node, there in (
        ("one", versions()), ("two", versions() | other), ("two", versions() | {"torch": "1.0"}),
        ("three", versions() | {"python": "2"}), ("four", without_numpy),
    ):  # fmt: skip
        opened: Any = SimpleNamespace(node=node, models=[], versions=there)
        replicas.check(opened, context)
    assert events == [
        ev.Notice(
            text=f"{node} has other versions of {names}: results may differ by machine", level="warning"
        )
        for node, names in (("two", "torch, numpy"), ("three", "python"), ("four", "numpy"))
    ]


def test_what_replicas_report_is_logged_before_the_results_it_belongs_to() -> None:
    place = Place()
    assert [process.work for process in place.backend.processes] == [("shared", Squares())] * 2
    assert {process.folder for process in place.backend.processes} == {os.getcwd()}
    place.ready()
    started = [event for event in place.events if isinstance(event, ev.ReplicaStarted)]
    assert started == [
        ev.ReplicaStarted(replica=number, life=1, node="here", pid=7, gpus=["1"], seconds=0.5)
        for number in (0, 1)
    ]
    place.events.clear()
    place.backend.patience.clear()
    place.backend.reported.append(ev.Notice(text="at work"))
    assert place.team.arrivals(0.0) == ([], [])
    assert place.events == [ev.Notice(text="at work")] and place.backend.patience == [0.0]
    place.team.give(place.team.members[1], 4, "item")
    place.backend.processes[1].asked["item"].set_result("done")
    assert place.team.arrivals(0.0) == ([(4, "done")], [])
    assert place.backend.patience == [0.0, 0.0, 5.0], "what belongs to a result is waited for"
    assert place.held() == [[], []]


def test_a_death_is_told_and_what_came_from_an_earlier_life_is_not_heard() -> None:
    place = Place().ready()
    member, first = place.team.members[0], place.backend.processes[0]
    for number, item in ((3, "three"), (5, "five")):
        place.team.give(member, number, item)
    place.events.clear()
    first.asked["three"].set_exception(OSError("it\n  ended " + "x" * 600))
    assert place.team.arrivals(0.0) == (
        [],
        [LostItem(3, "three", started=True), LostItem(5, "five", started=False)],
    )
    reason = "it ended " + "x" * 491
    assert place.events == [
        ev.ReplicaLost(replica=0, life=1, redone=2, reason=reason),
        ev.Notice(text=f"replica 0 died (items to do again: 2): {reason}", level="warning"),
    ]
    assert (member.life, member.ready, member.held) == (2, False, {})
    first.asked["five"].set_result("too late")
    assert place.team.arrivals(0.0) == ([], [])
    assert len(place.backend.processes) == 3
    place.backend.processes[2].opens()
    place.team.arrivals(0.0)
    assert member.ready and place.events[-1] == ev.ReplicaStarted(
        replica=0, life=2, node="here", pid=7, gpus=["1"], seconds=0.5
    )


def test_another_stages_work_is_opened_by_the_same_replicas_which_started_once() -> None:
    place = Place().ready()
    place.team.give(place.team.members[0], 0, "left over")
    place.events.clear()
    team = Team(place.team._replicas, Squares(), place.context)
    assert place.held() == [[], []] and not any(member.ready for member in team.members)
    for process in place.backend.processes:
        process.opens()
    team.arrivals(0.0)
    assert all(member.ready for member in team.members) and place.events == []


@pytest.mark.parametrize("ready", [0, 1])
def test_replicas_that_are_not_ready_for_long_are_told_of_once(ready: int) -> None:
    place = Place()
    for process in place.backend.processes[:ready]:
        process.opens()
    for seconds, told in ((30.0, 0), (30.5, 1), (90.0, 1)):
        place.now = 100.0 + seconds
        place.team.arrivals(0.0)
        notices = [event for event in place.events if isinstance(event, ev.Notice)]
        assert notices == [
            ev.Notice(text=f"{2 - ready} of 2 replicas are not ready: they still load", level="warning")
        ] * told  # fmt: skip


def test_what_the_work_raised_is_raised_without_its_wrapper() -> None:
    inner, plain = DataError(what="a", where="b", hint="c"), ZeroDivisionError("by zero")
    wrapper: Any = RuntimeError("wrapped")
    wrapper.cause = inner
    assert _cause(wrapper) is inner and inner.__cause__ is wrapper
    assert _cause(plain) is plain and plain.__cause__ is None
    wrapper.cause = "no error"
    assert _cause(wrapper) is wrapper
    place = Place().ready()
    place.team.give(place.team.members[0], 0, "item")
    wrapper.cause = inner
    place.backend.processes[0].asked["item"].set_exception(wrapper)
    with pytest.raises(DataError) as raised:
        place.team.arrivals(0.0)
    assert raised.value is inner
