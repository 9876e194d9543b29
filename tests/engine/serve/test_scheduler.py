"""What the scheduler tells of how busy it is. No model runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from engine.config.serve import ServeSection
from engine.errors import ModelError
from engine.events import DecisionTaken, Event, RequestAnswered, ServeLoad
from engine.levers.in_flight_batch import InFlight
from engine.levers.levers import Prepared
from engine.serve import scheduler
from engine.serve.pending_request import Failed, PendingRequest, Update
from engine.serve.scheduler import MOST_FAILURES, STOPPING, Busy, RequestScheduler
from tests.exactly import exactly


def test_load_is_told_once_a_second_where_something_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(scheduler, "time", SimpleNamespace(monotonic=lambda: now[0]))
    levers: Any = SimpleNamespace(model=SimpleNamespace(open=lambda prompts: None))
    events: list[Event] = []
    monkeypatch.setattr(ServeSection, "max_waiting", 1)
    section = ServeSection(max_in_flight=1)
    busy = RequestScheduler(levers, section, events.append, lambda done, tokens: None)

    def reported(seconds: float) -> list[Event]:
        now[0] += seconds
        before = len(events)
        busy._report()
        return events[before:]

    assert reported(2) == [], "nothing has happened"
    busy.reserve()
    assert reported(0.5) == [], "not within a second"
    assert reported(0.5) == [ServeLoad(in_flight=0, waiting=1)]
    busy.reserve()
    with pytest.raises(Busy) as caught:
        busy.reserve()
    assert caught.value.seconds == 2, "3 rounds of one request of half a second: 1.5, rounded up"
    assert reported(1) == [ServeLoad(in_flight=0, waiting=2, refused=1)]
    busy._tokens = 30
    assert reported(4) == [ServeLoad(in_flight=0, waiting=2, refused=1, tokens=30, tokens_per_second=7.5)]
    assert reported(4) == [], "a rate that falls to nothing is no news"
    busy._in_flight[1] = levers
    assert reported(1) == [ServeLoad(in_flight=1, waiting=1, refused=1, tokens=30)], "one of two is answered"
    busy._in_flight.clear()
    reported(1)
    busy.release()
    assert reported(1) == [ServeLoad(in_flight=0, waiting=1, refused=1, tokens=30)]


def test_tokens_that_went_with_a_client_are_no_speed_below_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(scheduler, "time", SimpleNamespace(monotonic=lambda: now[0]))
    levers: Any = SimpleNamespace(model=SimpleNamespace(open=lambda prompts: None))
    events: list[Event] = []
    busy = RequestScheduler(levers, ServeSection(), events.append, lambda done, tokens: None)
    text = SimpleNamespace(tokens=20, answer=SimpleNamespace(probe_tokens=10))
    for texts, tokens in (([text, text], 60), ([], 0)):
        monkeypatch.setattr(busy, "_batch", SimpleNamespace(texts=texts))
        now[0] += 7
        busy._report()
        speed = round(tokens / 7, 1)
        assert events[-1] == ServeLoad(in_flight=0, waiting=0, tokens=tokens, tokens_per_second=speed)
    assert len(events) == 2 and events[0].tokens_per_second == 8.6  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("reserved", "mean", "seconds"),
    [
        (0, 0.5, 1),
        (3, 2.5, 3),
        (4, 2.5, 5),
        (7, 1.0, 2),
        (8, 1.0, 3),
        (0, 0.0, 1),
        (0, 59.5, 60),
        (0, 61.0, 60),
    ],
)
def test_who_finds_no_place_is_told_when_to_come_again(reserved: int, mean: float, seconds: int) -> None:
    """After as many rounds of four as those before need, in whole seconds from 1 to 60."""
    levers: Any = SimpleNamespace(model=SimpleNamespace(open=lambda prompts: None))
    busy = RequestScheduler(
        levers, ServeSection(max_in_flight=4), lambda event: None, lambda done, tokens: None
    )
    busy.reserved, busy._mean_seconds = reserved, mean
    assert busy._patience() == seconds


def test_the_model_s_side_is_woken_by_what_is_asked_and_by_who_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After the end whoever asks is told so, and gets the place back."""
    levers: Any = SimpleNamespace(model=SimpleNamespace(open=lambda prompts: None))
    busy = RequestScheduler(levers, ServeSection(), lambda event: None, lambda done, tokens: None)
    woken, waits, sent = list[int](), list[float](), list[Update]()
    monkeypatch.setattr(busy._lock, "notify_all", lambda: woken.append(len(busy._waiting)))
    monkeypatch.setattr(busy._lock, "wait", waits.append)
    busy._wait()
    assert waits == [scheduler.IDLE]
    nobody: Any = None
    request = PendingRequest("a", nobody, "Q", sent.append, nobody)
    busy.reserve()
    busy.submit(request)
    assert woken == [1]
    busy._wait()
    assert waits == [scheduler.IDLE], "there is something to do"
    busy.cancel(request)
    assert woken == [1, 1] and request.cancelled
    busy.close()
    assert sent == [STOPPING] and busy.reserved == 1
    busy.submit(request)
    assert sent == [STOPPING] * 2 and busy.reserved == 0 and len(woken) == 2


def test_a_model_that_fails_again_and_again_ends_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever shared a failed call is told; after a call that goes well it is counted anew."""
    levers: Any = SimpleNamespace(model=SimpleNamespace(open=lambda prompts: None))
    events: list[Event] = []
    progress: list[tuple[int, int]] = []
    busy = RequestScheduler(levers, ServeSection(), events.append, lambda *done: progress.append(done))
    sent: list[tuple[str, Update]] = []

    def in_flight(name: str) -> None:
        nobody: Any = None
        parsed: Any = SimpleNamespace(chosen=None)
        prepared: Any = SimpleNamespace(text=InFlight(name, [1], nobody))
        request = PendingRequest(name, parsed, "Q", lambda update: sent.append((name, update)), prepared)
        busy._submitted[id(request)] = busy._in_flight[id(request.text)] = request
        busy.reserve()

    def fails() -> list[InFlight]:
        raise ModelError(what="out of memory", where="cuda:0", hint="")

    monkeypatch.setattr(busy._batch, "step", fails)
    for name in "ab":
        in_flight(name)
    busy._round()
    assert sent == [("a", Failed("out of memory")), ("b", Failed("out of memory"))]
    assert [(e.request, e.outcome, e.why) for e in events if isinstance(e, RequestAnswered)] == [
        ("a", "failed", "out of memory"),
        ("b", "failed", "out of memory"),
    ]
    assert (busy.reserved, busy._in_flight, progress) == (0, {}, [(1, 0), (2, 0)])
    monkeypatch.setattr(busy._batch, "step", list)
    busy._round()
    monkeypatch.setattr(busy._batch, "step", fails)
    for _ in range(MOST_FAILURES - 1):
        busy._round()
    with pytest.raises(ModelError, match=exactly("out of memory (cuda:0)")):
        busy._round()


def test_a_request_that_is_written_again_gets_the_next_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """It had one already: those that wait for their first came later."""
    levers: Any = SimpleNamespace(model=SimpleNamespace(open=lambda prompts: None))
    section = ServeSection(max_in_flight=1)
    busy = RequestScheduler(levers, section, lambda event: None, lambda done, tokens: None)
    monkeypatch.setattr(busy._batch, "add", lambda text: None)
    announced: list[str] = []
    monkeypatch.setattr(busy, "_announce", lambda request: announced.append(request.name))
    nobody: Any = None

    def request(name: str) -> PendingRequest:
        prepared = Prepared(InFlight(name, [1], nobody), nobody, [], nobody)
        return PendingRequest(name, nobody, "Q", lambda update: None, prepared)

    begun, second, third = (request(name) for name in ("begun", "second", "third"))
    begun.began = 1.0
    busy.submit(second)
    busy.submit(third)
    busy._checked.append((begun, Prepared(InFlight("with a note", [1], nobody), nobody, [], nobody)))
    busy._take_checked()
    busy._start_waiting()
    assert [(one.name, one.text.name) for one in busy._in_flight.values()] == [("begun", "with a note")]
    assert not announced, "it was, when it began"
    busy._in_flight.clear()
    busy._start_waiting()
    assert announced == ["second"] and [one.name for one in busy._waiting] == ["third"]


def test_each_answer_of_a_request_takes_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four: where three are taken, there is none for two, and one for one."""
    monkeypatch.setattr(ServeSection, "max_waiting", 2)
    levers: Any = SimpleNamespace(model=SimpleNamespace(open=lambda prompts: None))
    section = ServeSection(max_in_flight=2)
    busy = RequestScheduler(levers, section, lambda event: None, lambda done, tokens: None)
    assert (busy.reserve(3), busy.reserved) == (3, 3)
    with pytest.raises(Busy):
        busy.reserve(2)
    assert (busy.reserve(1), busy.reserved) == (1, 4)
    busy.release(4)
    assert busy.reserved == 0


def test_whose_client_leaves_while_the_answer_is_checked_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is not written again. Those that found no place are none that have ended; what never began counts
    from its arrival."""
    monkeypatch.setattr(scheduler, "time", SimpleNamespace(monotonic=lambda: 107.0))
    levers: Any = SimpleNamespace(model=SimpleNamespace(open=lambda prompts: None))
    events: list[Event] = []
    progress: list[tuple[int, int]] = []
    busy = RequestScheduler(levers, ServeSection(), events.append, lambda *done: progress.append(done))
    busy._counts["refused"] = 5
    nobody: Any = None
    prepared = Prepared(InFlight("a", [1], nobody), nobody, [], nobody)
    request = PendingRequest("a", nobody, "Q", lambda update: None, prepared, arrived=100.0, cancelled=True)
    busy._submitted[id(request)] = request
    busy.reserve()
    busy._checked.append((request, Prepared(InFlight("with a note", [1], nobody), nobody, [], nobody)))
    busy._take_checked()
    told = [(e.request, e.outcome, e.seconds) for e in events if isinstance(e, RequestAnswered)]
    assert told == [("a", "vanished", 7.0)]
    assert (list(busy._waiting), busy.reserved, progress) == ([], 0, [(1, 0)])


def idle() -> RequestScheduler:
    levers: Any = SimpleNamespace(model=SimpleNamespace(open=lambda prompts: None))
    return RequestScheduler(levers, ServeSection(), lambda event: None, lambda done, tokens: None)


def test_with_answers_in_flight_it_works_and_otherwise_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has gone leaves, what is checked goes on, what waits gets a place; then a step, and how busy it is."""
    busy, did, answers = idle(), list[str](), 1

    class Enough(Exception):
        pass

    def checkpoint() -> None:
        did.append("look")
        if did.count("look") == 3:
            raise Enough

    def finish() -> None:
        did.append("round")
        busy._in_flight.clear()

    for name in ("drop_cancelled", "take_checked", "start_waiting", "wait", "report"):
        monkeypatch.setattr(busy, f"_{name}", lambda name=name: did.append(name))
    monkeypatch.setattr(busy, "_round", finish)
    nobody: Any = None
    busy._in_flight[answers] = nobody
    with pytest.raises(Enough):
        busy.work(checkpoint)
    before = ["look", "drop_cancelled", "take_checked", "start_waiting"]
    assert did == [*before, "round", "report", *before, "wait", "report", "look"]


def test_at_the_end_all_that_are_left_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those in flight, those that wait, and whoever comes afterwards."""
    busy, sent = idle(), list[tuple[str, Update]]()
    nobody: Any = None

    def request(name: str) -> PendingRequest:
        prepared = Prepared(InFlight(name, [1], nobody), nobody, [], nobody)
        busy.reserve()
        return PendingRequest(name, nobody, "Q", lambda update: sent.append((name, update)), prepared)

    first, second = request("in flight"), request("waiting")
    for one in (first, second):
        busy.submit(one)
    busy._in_flight[id(first.text)] = busy._waiting.popleft()
    busy.close()
    assert sent == [("in flight", STOPPING), ("waiting", STOPPING)]
    assert (busy._in_flight, list(busy._waiting), busy.reserved) == ({}, [], 2)
    busy.submit(request("late"))
    assert sent[2:] == [("late", STOPPING)] and busy.reserved == 2
    with pytest.raises(RuntimeError):
        busy._checking.submit(print)


def test_in_each_round_decisions_are_logged_before_they_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without texts, where these are not to be logged; whatever has ended leaves its place."""
    said: list[Any] = []
    levers: Any = SimpleNamespace(model=SimpleNamespace(open=lambda prompts: None))
    decision = DecisionTaken(method="esm", example="", m=1, gate="chosen", prefix="Once", segment=" upon")

    def request(name: str) -> Any:
        text = SimpleNamespace(name=name)
        return SimpleNamespace(
            name=name, text=text, new_decisions=lambda: [decision],
            send_updates=lambda decisions: said.append((name, decisions)),
        )  # fmt: skip

    for log_texts in (True, False):
        said.clear()
        busy = RequestScheduler(
            levers, ServeSection(log_texts=log_texts), said.append, lambda done, tokens: None
        )
        first, second = request("a"), request("b")
        busy._in_flight = {id(one.text): one for one in (first, second)}
        monkeypatch.setattr(busy._batch, "step", lambda ended=second: [ended.text])
        monkeypatch.setattr(busy, "_ended", lambda one: said.append(f"{one.name} has ended"))
        busy._round()
        logged = {} if log_texts else {"prefix": "", "segment": ""}
        events = [msgspec.structs.replace(decision, example=name, **logged) for name in "ab"]
        assert said == [events[0], ("a", [decision]), events[1], ("b", [decision]), "b has ended"]
        assert list(busy._in_flight.values()) == [first]
