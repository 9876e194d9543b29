"""Replicas on this machine, and which items are given again after replicas have died."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from multiprocessing import Pipe
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest

from engine import events as ev
from engine.config.scale import ScaleSection
from engine.errors import DataError, ModelError, RunError
from engine.run.gate import StopRequested
from engine.scale import local_processes
from engine.scale import spread as spread_module
from engine.scale.local_processes import (
    LocalBackend,
    LocalProcess,
    ReplicaDied,
    _answer,
    _serve,
    _threads,
    load_libraries,
)
from engine.scale.replica import Replica
from engine.scale.replicas import LostItem, Replicas, Team, _cause
from engine.scale.spread import ReplicaSpread, _Spreading, spreading
from engine.scale.work import WorkContext, in_process
from engine.versions import versions
from tests.engine.scale.processes import descendants, living
from tests.engine.scale.works import DiesOnce, Fails, Squares
from tests.exactly import exactly


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
        RunError,
        match=exactly(
            "5 replicas died, one after the other, on the same item (number 7) (scale): it may need more memory than a "
            "replica has: lower the batch size; details are in worker.log"
        ),
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


class _Process:
    """A process of a replica, played: it is asked for something, and the test answers."""

    def __init__(self) -> None:
        self.opening: Future[Any] = Future()
        self.asked: dict[Any, Future[Any]] = {}

    def start(self, work: Any, folder: str) -> Future[Any]:
        self.work, self.folder = work, folder
        self.opening = Future()
        return self.opening

    def do(self, item: Any) -> Future[Any]:
        self.asked[item] = Future()
        return self.asked[item]

    def opens(self) -> None:
        opened = SimpleNamespace(
            models=[], versions=versions(), node="here", pid=7, gpus=["1"], seconds=0.5
        )  # as an `Opened`
        self.opening.set_result(opened)


class _Backend:
    """What starts played processes."""

    joined = ev.ClusterJoined(engine="local", replicas=2)
    log, slow_start = "w.log", "they still load"

    def __init__(self, *given: object) -> None:
        self.given = given
        self.processes: list[_Process] = []
        self.reported: list[ev.Event] = []
        self.patience: list[float] = []
        self.closed: list[Any] = []
        self.checks = 0

    def new_process(self, number: int) -> _Process:
        self.processes.append(_Process())
        return self.processes[-1]

    def share(self, work: Any) -> Any:
        return ("shared", work)

    def events(self, patience: float) -> list[ev.Event]:
        self.patience.append(patience)
        reported, self.reported = self.reported, []
        return reported

    def is_loss(self, error: BaseException) -> bool:
        return isinstance(error, OSError)

    def check(self) -> None:
        self.checks += 1

    def close(self, processes: Any) -> None:
        self.closed.append(processes)


class _Place:
    """A team of two played replicas, the events it logs, and its clock."""

    def __init__(self) -> None:
        self.backend = _Backend()
        self.events: list[ev.Event] = []
        self.now = 100.0
        self.context = WorkContext(
            lambda section: pytest.fail("loads a model"), lambda: None, self.events.append, lambda: self.now
        )
        played: Any = self.backend
        self.team = Team(Replicas(2, played), Squares(), self.context)

    def ready(self) -> _Place:
        for process in self.backend.processes:
            process.opens()
        assert self.team.arrivals(0.0) == ([], [])
        return self

    def spreading(self, items: Any) -> _Spreading:
        return _Spreading(self.team, items, self.context)

    def held(self) -> list[list[int]]:
        return [list(member.held) for member in self.team.members]


def test_a_second_item_waits_at_a_replica_while_enough_are_left() -> None:
    place = _Place()
    drawn: list[int] = []
    spreading = place.spreading(drawn.append(n) or f"item {n}" for n in range(20))
    assert spreading._give() and place.held() == [[], []], "none is ready"
    place.backend.processes[1].opens()
    place.team.arrivals(0.0)
    assert spreading._give() and place.held() == [[], [0, 1]]
    place.backend.processes[0].opens()
    place.team.arrivals(0.0)
    assert spreading._give() and place.held() == [[2, 3], [0, 1]]
    assert list(place.backend.processes[0].asked) == ["item 2", "item 3"]
    spreading._give()
    assert drawn == [*range(8)], "four for each replica, counted from the result whose turn it is"
    spreading.turn = 1
    spreading._give()
    assert drawn == [*range(9)]


@pytest.mark.parametrize(
    ("count", "held"),
    [(0, [[], []]), (1, [[0], []]), (2, [[0], [1]]), (3, [[0, 2], [1]]), (4, [[0, 2], [1, 3]])],
)
def test_the_last_items_are_dealt_to_all(count: int, held: list[list[int]]) -> None:
    place = _Place().ready()
    assert place.spreading(range(count))._give() == (count > 0)
    assert place.held() == held


def test_a_replica_that_is_done_takes_none_of_the_last_beside_one_that_it_has() -> None:
    """With five items for two, the last goes to who is idle first, not to who has another yet."""
    place = _Place().ready()
    spreading = place.spreading(range(5))
    spreading._give()
    assert place.held() == [[0, 2], [1, 3]] and list(spreading.waiting) == [(4, 4)]
    first, second = place.backend.processes
    first.asked[0].set_result("a")
    spreading.done.update(place.team.arrivals(0.0)[0])
    assert spreading._give() and place.held() == [[2], [1, 3]]
    for item in (1, 3):
        second.asked[item].set_result("b")
    spreading.done.update(place.team.arrivals(0.0)[0])
    assert spreading._give() and place.held() == [[2], [4]]
    assert spreading.done == {0: "a", 1: "b", 3: "b"}


def test_results_that_have_come_are_given_without_waiting_for_others() -> None:
    """While none has its turn, every tenth of a second it is asked whether to go on."""
    waited: list[float] = []
    comes = iter([([], []), ([(1, "b")], []), ([(0, "a")], []), ([], []), ([(2, "c")], [])])

    def arrivals(timeout: float) -> Any:
        waited.append(timeout)
        done, lost = next(comes)
        for number, _ in done:
            held.pop(number)
        return done, lost

    held: dict[int, int] = {}
    member = SimpleNamespace(ready=True, held=held)
    backend = _Backend()
    team: Any = SimpleNamespace(members=[member], backend=backend, arrivals=arrivals)
    team.give = lambda member, number, item: held.update({number: item})
    asked: list[int] = []
    context: Any = SimpleNamespace(checkpoint=lambda: asked.append(1))
    results = _Spreading(team, range(3), context).run()
    assert next(results) == "a"
    assert waited == [0.1, 0.1, 0.1] and len(asked) == backend.checks == 3
    assert [*results] == ["b", "c"]
    assert waited == [0.1, 0.1, 0.1, 0, 0.1]


def test_lost_items_are_given_before_all_others_in_their_order() -> None:
    place = _Place()
    spreading = place.spreading([])
    spreading.waiting.append((6, "g"))
    spreading._take_back([LostItem(5, "f", started=False), LostItem(2, "c", started=True)])
    spreading._take_back([LostItem(4, "e", started=True)])
    assert list(spreading.waiting) == [(4, "e"), (2, "c"), (5, "f"), (6, "g")]
    assert spreading.losses == {2: 1, 4: 1, 5: 0}


def test_what_replicas_report_is_logged_before_the_results_it_belongs_to() -> None:
    place = _Place()
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
    place = _Place().ready()
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
    place = _Place().ready()
    place.team.give(place.team.members[0], 0, "left over")
    place.events.clear()
    team = Team(place.team._replicas, Squares(), place.context)
    assert place.held() == [[], []] and not any(member.ready for member in team.members)
    for process in place.backend.processes:
        process.opens()
    team.arrivals(0.0)
    assert all(member.ready for member in team.members) and place.events == []


def test_replicas_that_are_not_ready_for_long_are_told_of_once() -> None:
    place = _Place()
    place.backend.processes[0].opens()
    for seconds, told in ((30.0, 0), (30.5, 1), (90.0, 1)):
        place.now = 100.0 + seconds
        place.team.arrivals(0.0)
        notices = [event for event in place.events if isinstance(event, ev.Notice)]
        assert notices == [
            ev.Notice(text="1 of 2 replicas are not ready: they still load", level="warning")
        ] * told  # fmt: skip


def test_what_the_work_raised_is_raised_without_its_wrapper() -> None:
    inner, plain = DataError(what="a", where="b", hint="c"), ZeroDivisionError("by zero")
    wrapper: Any = RuntimeError("wrapped")
    wrapper.cause = inner
    assert _cause(wrapper) is inner and inner.__cause__ is wrapper
    assert _cause(plain) is plain and plain.__cause__ is None
    wrapper.cause = "no error"
    assert _cause(wrapper) is wrapper
    place = _Place().ready()
    place.team.give(place.team.members[0], 0, "item")
    wrapper.cause = inner
    place.backend.processes[0].asked["item"].set_exception(wrapper)
    with pytest.raises(DataError) as raised:
        place.team.arrivals(0.0)
    assert raised.value is inner


def test_replicas_begin_with_the_first_work_and_end_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[_Backend] = []
    loaded: list[int] = []

    def make(*given: object) -> _Backend:
        made.append(_Backend(*given))
        return made[-1]

    monkeypatch.setattr(spread_module, "LocalBackend", lambda *given: make("local", *given))
    monkeypatch.setattr(spread_module, "RayBackend", lambda *given: make("ray", *given))
    monkeypatch.setattr(spread_module, "load_libraries", loaded.append)
    place = _Place()
    for section in (ScaleSection(replicas=2), ScaleSection(replicas=1, address="h:1")):
        place.events.clear()
        with pytest.raises(KeyboardInterrupt), spreading(section) as spread:
            assert isinstance(spread, ReplicaSpread)
            for _ in range(2):
                spread(Squares(), place.context)
            assert place.events == [_Backend.joined], "once for all stages"
            raise KeyboardInterrupt
        assert made[-1].closed == [made[-1].processes] and len(made[-1].processes) == section.replicas
    local, ray = made
    assert local.given == ("local", ScaleSection(replicas=2))
    assert ray.given == ("ray", ScaleSection(replicas=1, address="h:1"), "h:1", place.context.checkpoint)
    assert loaded == [2], "a cluster has them"


def test_replicas_that_cannot_be_started_leave_what_was_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = _Backend()
    monkeypatch.setattr(backend, "new_process", lambda number: pytest.fail("no room"))
    monkeypatch.setattr(spread_module, "LocalBackend", lambda section: backend)
    spread = ReplicaSpread(ScaleSection(replicas=2))
    with pytest.raises(pytest.fail.Exception):
        spread(Squares(), _Place().context)
    spread.close()
    spread.close()
    assert backend.closed == [[]], "once"


def test_what_replicas_need_is_loaded_before_them_where_they_are_forked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[object] = []
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(local_processes.multiprocessing, "set_forkserver_preload", done.append)
    monkeypatch.setattr(
        local_processes.forkserver, "ensure_running", lambda: done.append(os.environ["OMP_NUM_THREADS"])
    )
    for method, expected in (("spawn", []), ("forkserver", [local_processes._LIBRARIES, "2"])):
        monkeypatch.setattr(
            local_processes, "_processes", SimpleNamespace(get_start_method=lambda method=method: method)
        )
        load_libraries(3)
        assert done == expected
    assert "OMP_NUM_THREADS" not in os.environ


@pytest.mark.parametrize(
    ("cores", "replicas", "threads"), [(8, 2, "4"), (8, 3, "2"), (2, 3, "1"), (None, 1, "1")]
)
def test_replicas_share_the_cores(
    monkeypatch: pytest.MonkeyPatch, cores: int | None, replicas: int, threads: str
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    with pytest.raises(KeyError), _threads(replicas):
        assert os.environ["OMP_NUM_THREADS"] == threads
        raise KeyError
    assert "OMP_NUM_THREADS" not in os.environ
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    with _threads(replicas):
        assert os.environ["OMP_NUM_THREADS"] == "7", "what was asked for"
    assert os.environ["OMP_NUM_THREADS"] == "7"


def test_processes_of_this_machine_are_asked_to_leave_before_any_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[object] = []
    monkeypatch.setattr(local_processes, "time", SimpleNamespace(monotonic=lambda: 100.0))
    processes: Any = [
        SimpleNamespace(
            leave=lambda n=n: said.append(("leave", n)), end=lambda until, n=n: said.append(("end", n, until))
        )
        for n in (0, 1)
    ]
    LocalBackend(ScaleSection(replicas=2)).close(processes)
    assert said == [("leave", 0), ("leave", 1), ("end", 0, 100.5), ("end", 1, 100.5)]


@dataclass
class _Started:
    """What a process that is played was started with, and what was done to it."""

    target: Any
    args: tuple[Any, ...]
    pid: int = 4711
    exitcode: int = -9
    done: list[object] = field(default_factory=list)

    def start(self) -> None:
        self.done.append("start")

    def join(self, seconds: float) -> None:
        self.done.append(("join", seconds))

    def kill(self) -> None:
        self.done.append("kill")


@pytest.fixture
def asked(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[tuple[LocalProcess, Any, _Started, SimpleQueue[ev.Event]]]:
    """A replica's process that is played: the test holds its end of the pipe."""
    ours, theirs = Pipe()
    kept = SimpleNamespace(send=theirs.send, recv=theirs.recv, poll=theirs.poll, hang_up=theirs.close)
    monkeypatch.setattr(theirs, "close", lambda: None, raising=False)
    monkeypatch.setattr(
        local_processes, "_processes", SimpleNamespace(Pipe=lambda: (ours, theirs), Process=_Started)
    )
    events: SimpleQueue[ev.Event] = SimpleQueue()
    process = LocalProcess(events, ["3"])
    started: Any = process._process
    assert (started.target, started.args, started.done) == (_serve, (theirs, ["3"]), ["start"])
    yield process, kept, started, events
    kept.hang_up()  # whoever still waits for an answer


def test_a_replica_is_asked_for_one_thing_after_another(asked: Any) -> None:
    """What it reports arrives before the answer; what it raised is raised."""
    process, pipe, _, events = asked
    work: Any = Squares()
    opening, first, second = process.start(work, "/folder"), process.do(1), process.do(2)
    assert pipe.recv() == (work, "/folder") and not pipe.poll(0.02)
    pipe.send(ev.Notice(text="opens"))
    pipe.send(("opened", None))
    assert opening.result(5) == "opened" and events.get(timeout=0) == ev.Notice(text="opens")
    assert pipe.recv() == (1,) and not pipe.poll(0.02)
    pipe.send((None, ZeroDivisionError("by zero")))
    with pytest.raises(ZeroDivisionError, match="by zero"):
        first.result(5)
    assert pipe.recv() == (2,)
    pipe.send((4, None))
    assert second.result(5) == 4 and events.empty()
    process.leave()
    assert pipe.recv() is None
    pipe.send((None, None))


def test_a_replica_whose_pipe_is_closed_has_died(asked: Any) -> None:
    process, pipe, started, _ = asked
    done = process.do(1)
    pipe.recv()
    pipe.hang_up()
    with pytest.raises(ReplicaDied, match=exactly("its process ended (exit code -9)")):
        done.result(5)
    assert started.done == ["start", ("join", 5.0)]
    process.leave()


@pytest.mark.parametrize(("until", "waits"), [(102.5, 2.5), (99.0, 0.0)])
def test_a_replica_ends_with_all_that_it_has_started(
    asked: Any, monkeypatch: pytest.MonkeyPatch, until: float, waits: float
) -> None:
    process, _, started, _ = asked
    monkeypatch.setattr(local_processes, "time", SimpleNamespace(monotonic=lambda: 100.0))

    def killpg(group: int, number: int) -> None:
        started.done.append((group, number))
        raise ProcessLookupError

    monkeypatch.setattr(os, "killpg", killpg)
    process.end(until)
    killed = [(4711, signal.SIGKILL), "kill"]
    assert started.done == ["start", ("join", waits), *killed, ("join", 5.0)]


@dataclass(frozen=True)
class _Where:
    """`n` -> n and the folder; tells of it."""

    def open(self, context: WorkContext) -> Any:
        context.notice("opened")
        return lambda n: (n, os.getcwd(), os.environ["CUDA_VISIBLE_DEVICES"])


def test_a_replica_answers_until_it_is_asked_to_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a group of processes of its own, in the worker's folder, with its GPUs alone."""
    grouped: list[int] = []
    monkeypatch.setattr(os, "setpgrp", lambda: grouped.append(1))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3")
    monkeypatch.chdir(os.getcwd())
    ours, theirs = Pipe()
    for question in ((_Where(), str(tmp_path)), (5,), (_Where(), "/no/such/folder"), None, (6,)):
        ours.send(question)
    _serve(theirs, ["1", "3"])
    assert theirs.recv() == (6,), "it has left"
    theirs.close()
    assert ours.recv() == ev.Notice(text="opened")
    opened, raised = ours.recv()
    assert (opened.gpus, opened.pid, raised) == (["1", "3"], os.getpid(), None)
    assert ours.recv() == ((5, str(tmp_path), "1,3"), None)
    nothing, raised = ours.recv()
    assert nothing is None and isinstance(raised, FileNotFoundError)
    with pytest.raises(EOFError):
        ours.recv()
    assert grouped == [1]
