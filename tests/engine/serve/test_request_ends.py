"""What the log has of a request and of its end, by a clock moved by hand. No model runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from engine.config.serve import ServeSection
from engine.errors import RunError
from engine.events import (
    DecisionTaken,
    Event,
    LeverActed,
    QuestionAsked,
    RequestAnswered,
    RequestTaken,
    ServeLoad,
)
from engine.levers.lever import LeverDid
from engine.serve import scheduler
from engine.serve.pending_request import Failed, PendingRequest
from engine.serve.scheduler import STOPPING, Busy, RequestScheduler


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    moment = [100.0]
    monkeypatch.setattr(scheduler, "time", SimpleNamespace(monotonic=lambda: moment[0]))
    return moment


def scheduled(events: list[Event], section: ServeSection, progress: list[Any]) -> RequestScheduler:
    levers: Any = SimpleNamespace(model=SimpleNamespace(open=lambda prompts: None))
    return RequestScheduler(levers, section, events.append, lambda *done: progress.append(done))


def request(sent: list[Any], name: str = "r", **more: Any) -> PendingRequest:
    decisions = [
        DecisionTaken(
            method="esm", example="", m=m, gate="chosen", phase=phase, prefix="p", segment="s", null_probe="n"
        )
        for m, phase in ((1, "segment"), (2, "segment"), (3, "tail"))
    ]  # fmt: skip
    answer = SimpleNamespace(decisions=decisions, tokens=[1, 2], probe_tokens=5, steered=1)
    text = SimpleNamespace(
        answer=answer, tokens=4, finish="stop", text="the answer", prompt=[1, 2, 3], echo="", prompt_scored=[],
    )  # fmt: skip
    parsed: Any = SimpleNamespace(chosen=SimpleNamespace(levers=["esm"]), kind="chat", stream=False)
    prepared: Any = SimpleNamespace(text=text, again=None)
    made = PendingRequest(name, parsed, "why?", sent.append, prepared, 90.0)
    for field, value in more.items():
        setattr(made, field, value)
    return made


@pytest.mark.parametrize("log_texts", [True, False])
def test_what_the_log_has_of_a_request(now: list[float], log_texts: bool) -> None:
    events: list[Event] = []
    progress: list[Any] = []
    busy, sent = scheduled(events, ServeSection(log_texts=log_texts), progress), list[Any]()
    one = request(sent, spent=2, first=0.123456)
    busy.reserve()
    busy.submit(one)
    with pytest.raises(Busy):
        busy.reserve(99_999)
    busy._announce(one)
    asked = "why?" if log_texts else ""
    assert events == [
        QuestionAsked(example="r", question=asked),
        RequestTaken(
            request="r",
            kind="chat",
            levers=["esm"],
            question=asked,
            prompt_tokens=3,
            stream=False,
            waited=10.0,
        ),
    ]
    busy._log(one, one.new_decisions()[:1])
    kept: dict[str, Any] = {"prefix": "p", "segment": "s", "null_probe": "n"} if log_texts else {}
    assert events[2] == DecisionTaken(method="esm", example="r", m=1, gate="chosen", phase="segment", **kept)
    now[0] = 103.00004
    answer: Any = SimpleNamespace(
        decisions=one.text.answer.decisions, did=[LeverDid(lever="esm", acted=True, what="1 of 2", tokens=9)],
        text="the answer", scored=None,
    )  # fmt: skip
    busy._answered(one, answer)
    assert events[3] == RequestAnswered(
        request="r", outcome="answered", why="", finish="stop", tokens=4, probe_tokens=7, first=0.1235, seconds=3.0,
        segments=2, steered=1, did=[LeverActed(lever="esm", acted=True, what="1 of 2", tokens=9)],
        text="the answer" if log_texts else "",
    )  # fmt: skip
    assert (progress, busy.reserved, busy._submitted, sent) == ([(1, 11)], 0, {}, [answer])
    assert busy._mean_seconds == pytest.approx(0.5 + 0.1 * (3.00004 - 0.5))
    now[0] = 110.0
    busy._report()
    assert events[4:] == [
        ServeLoad(in_flight=0, waiting=0, tokens=11, tokens_per_second=1.1, answered=1, refused=1)
    ]


def test_an_answer_is_in_the_log_before_its_client_has_it(now: list[float]) -> None:
    said: list[Any] = []
    busy = scheduled(said, ServeSection(), [])
    one = request(said)
    busy.reserve()
    busy.submit(one)
    answer: Any = SimpleNamespace(decisions=[], did=[], text="the answer", scored=None)
    busy._answered(one, answer)
    assert [type(what).__name__ for what in said] == ["RequestAnswered", "SimpleNamespace"] and said[
        1
    ] is answer


def test_who_leaves_who_waits_and_who_comes_too_late(now: list[float]) -> None:
    events: list[Event] = []
    progress: list[Any] = []
    busy, sent = scheduled(events, ServeSection(max_in_flight=2), progress), list[Any]()
    first, second = request(sent, "a"), request(sent, "b")
    for one in (first, second):
        busy.reserve()
        busy.submit(one)
    busy.cancel(first)
    busy._drop_cancelled()
    assert [(e.request, e.outcome, e.seconds, e.did) for e in events if isinstance(e, RequestAnswered)] == [
        ("a", "vanished", 10.0, [])
    ]
    assert (busy.reserved, progress) == (1, [(1, 9)])
    busy.reserve(3)
    busy._mean_seconds = 2.0
    assert busy._patience() == 6, "5 of two at once are 3 rounds of 2 s"
    busy._mean_seconds = 0.01
    assert busy._patience() == 1
    busy._mean_seconds = 1000.0
    assert busy._patience() == 60
    busy.close()
    assert sent == [Failed("the server is stopping", stopping=True)] == [STOPPING]
    late = request(sent, "c")
    busy.submit(late)
    assert sent == [STOPPING] * 2 and busy.reserved == 3
    busy.release(3)
    assert busy.reserved == 0
    assert str(Busy(7)) == "come again in 7 seconds" and Busy(7).seconds == 7


def test_an_answer_that_cannot_be_checked_stands(now: list[float]) -> None:
    busy = scheduled([], ServeSection(), [])
    one = request([])

    def fails(text: str) -> None:
        raise RunError(what=f"no judge of {text}", where="slsm", hint="start it")

    one.prepared.again = fails  # type: ignore[misc,assignment]
    busy._check(one)
    what = "the answer could not be checked: no judge of the answer (slsm): start it"
    assert list(busy._checked) == [(one, LeverDid(lever="notes", acted=False, what=what))]


def test_who_leaves_is_taken_out_of_the_batch(now: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    busy = scheduled([], ServeSection(max_in_flight=2), [])
    dropped: list[Any] = []
    waited: list[float] = []
    monkeypatch.setattr(busy._batch, "drop", dropped.extend)
    monkeypatch.setattr(busy._lock, "wait", waited.append)
    gone, stays = request([], "a", cancelled=True), request([], "b")
    for one in (gone, stays):
        busy.reserve()
        busy._submitted[id(one)] = busy._in_flight[id(one.text)] = one
    busy._drop_cancelled()
    assert dropped == [gone.text] and list(busy._in_flight.values()) == [stays]
    busy._wait()
    busy._waiting.append(stays)
    busy._wait()
    busy._waiting.clear()
    busy._checked.append((stays, LeverDid(lever="notes", acted=False, what="x")))
    busy._wait()
    assert waited == [0.1], "only where nothing waits and nothing was checked"


def test_what_was_checked_goes_on_or_ends(now: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Event] = []
    sent: list[Any] = []
    busy = scheduled(events, ServeSection(), [])
    gone, stands = request([], "a", cancelled=True), request(sent, "b")
    for one in (gone, stands):
        busy.reserve()
        busy._submitted[id(one)] = one
    found = LeverDid(lever="notes", acted=False, what="keeps")
    answer: Any = SimpleNamespace(text="the answer", scored=None, decisions=[], did=[])
    monkeypatch.setattr(
        busy.levers, "answered", lambda prepared, seen: (answer, seen)[seen is None], raising=False
    )
    busy._checked.extend([(gone, found), (stands, found)])
    busy._take_checked()
    assert [(e.request, e.outcome) for e in events if isinstance(e, RequestAnswered)] == [
        ("a", "vanished"),
        ("b", "answered"),
    ]
    assert sent == [answer] and busy.reserved == 0
    ended: list[dict[str, bool]] = []
    monkeypatch.setattr(busy, "_checking", SimpleNamespace(shutdown=lambda **how: ended.append(how)))
    busy.close()
    assert ended == [{"wait": False, "cancel_futures": True}]
