"""How items are dealt to replicas, also again after one has died, and when replicas begin and end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from engine.config.scale import ScaleSection
from engine.errors import RunError
from engine.run.gate import StopRequested
from engine.scale import spread as spread_module
from engine.scale.local_processes import (
    LocalBackend,
)
from engine.scale.replicas import LostItem
from engine.scale.spread import ReplicaSpread, _Spreading, spreading
from engine.scale.work import WorkContext, in_process
from tests.engine.scale.stand_ins import Backend, Place
from tests.engine.scale.works import Squares
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


def test_one_replica_without_an_address_is_the_worker_itself() -> None:
    with spreading(ScaleSection()) as spread:
        assert spread is in_process


def test_work_in_this_process_asks_before_each_item_whether_to_go_on() -> None:
    asked = [0]

    def checkpoint() -> None:
        asked[0] += 1

    context = WorkContext(lambda section: pytest.fail("loads a model"), checkpoint, lambda event: None)
    for done, square in enumerate(in_process(Squares(), context)(range(3)), 1):
        assert (square, asked) == ((done - 1) ** 2, [done])


def test_a_second_item_waits_at_a_replica_while_enough_are_left() -> None:
    place = Place()
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
    place = Place().ready()
    assert place.spreading(range(count))._give() == (count > 0)
    assert place.held() == held


def test_a_replica_that_is_done_takes_none_of_the_last_beside_one_that_it_has() -> None:
    """With five items for two, the last goes to who is idle first, not to who has another yet."""
    place = Place().ready()
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
    backend = Backend()
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
    place = Place()
    spreading = place.spreading([])
    spreading.waiting.append((6, "g"))
    spreading._take_back([LostItem(5, "f", started=False), LostItem(2, "c", started=True)])
    spreading._take_back([LostItem(4, "e", started=True)])
    assert list(spreading.waiting) == [(4, "e"), (2, "c"), (5, "f"), (6, "g")]
    assert spreading.losses == {2: 1, 4: 1, 5: 0}


def test_replicas_begin_with_the_first_work_and_end_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Backend] = []
    loaded: list[int] = []

    def make(*given: object) -> Backend:
        made.append(Backend(*given))
        return made[-1]

    monkeypatch.setattr(spread_module, "LocalBackend", lambda *given: make("local", *given))
    monkeypatch.setattr(spread_module, "RayBackend", lambda *given: make("ray", *given))
    monkeypatch.setattr(spread_module, "load_libraries", loaded.append)
    place = Place()
    for section in (ScaleSection(replicas=2), ScaleSection(replicas=1, address="h:1")):
        place.events.clear()
        with pytest.raises(KeyboardInterrupt), spreading(section) as spread:
            assert isinstance(spread, ReplicaSpread)
            for _ in range(2):
                spread(Squares(), place.context)
            assert place.events == [Backend.joined], "once for all stages"
            raise KeyboardInterrupt
        assert made[-1].closed == [made[-1].processes] and len(made[-1].processes) == section.replicas
    local, ray = made
    assert local.given == ("local", ScaleSection(replicas=2))
    assert ray.given == ("ray", ScaleSection(replicas=1, address="h:1"), "h:1", place.context.checkpoint)
    assert loaded == [2], "a cluster has them"


def test_replicas_that_cannot_be_started_leave_what_was_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Backend()
    monkeypatch.setattr(backend, "new_process", lambda number: pytest.fail("no room"))
    monkeypatch.setattr(spread_module, "LocalBackend", lambda section: backend)
    spread = ReplicaSpread(ScaleSection(replicas=2))
    with pytest.raises(pytest.fail.Exception):
        spread(Squares(), Place().context)
    spread.close()
    spread.close()
    assert backend.closed == [[]], "once"
