"""How far the answers of a server are: told every two seconds, with figures worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from engine.config.models.openai import OpenAISection
from engine.events import Event, ModelWorking
from engine.run.gate import StopRequested
from engine.servers import answer_pace
from engine.servers.answer_pace import AnswerPace
from engine.servers.client import OpenAIClient
from tests.misbehaving_server import misbehaving_server

HI = [{"role": "user", "content": "hi"}]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def working(asked: int, done: int, tokens: int, speed: float, under_way: int) -> ModelWorking:
    return ModelWorking(
        sequences=asked, done=done, tokens=tokens, tokens_per_second=speed, role="judge", under_way=under_way
    )


def test_answers_requests_and_tokens_a_second() -> None:
    """Two are asked for and sent. One has 30 tokens after 4 s: 7.5 a second. The other is under way for 10 s, and
    nothing is in the 5 s after: 30 tokens in 10 s are 3 a second. Its 6 tokens make 3.6."""
    clock, events = Clock(), list[Event]()
    pace = AnswerPace("judge", events.append, clock)
    with pace.waiting():
        with pace.under_way():
            with pace.waiting():
                with pace.under_way():
                    clock.now += 4
                pace.answered(30)
            pace.report()
            clock.now += 6
        clock.now += 5
        pace.report()
        pace.answered(6)
    pace.report()
    assert events == [
        working(2, 1, 30, 7.5, under_way=1),
        working(2, 1, 30, 3.0, under_way=0),
        working(2, 2, 36, 3.6, under_way=0),
    ]


def test_the_last_answer_is_told_where_the_waiting_was() -> None:
    """Or its failure; of answers that come at once nothing is said."""
    clock, events = Clock(), list[Event]()
    pace = AnswerPace("judge", events.append, clock)
    with pace.waiting():
        pace.answered(1)
    with pytest.raises(KeyError), pace.waiting(), pace.waiting():
        clock.now += 2
        pace.report()
        pace.answered(1)
        raise KeyError
    assert events == [working(3, 1, 1, 0.0, 0), working(2, 2, 2, 0.0, 0)]


def test_the_time_of_a_request_under_way_counts() -> None:
    """20 tokens after 4 s of one request; the next one is under way for 1 s and then for 4 s: 20 / 5, then 20 / 8."""
    clock, events = Clock(), list[Event]()
    pace = AnswerPace("judge", events.append, clock)
    with pace.waiting():
        with pace.under_way():
            clock.now += 4
        pace.answered(20)
        with pace.waiting(), pace.under_way():
            clock.now += 1
            pace.report()
            clock.now += 3
            pace.report()
            pace.answered(0)
    assert events[:2] == [working(2, 1, 20, 4.0, 1), working(2, 1, 20, 2.5, 1)]


def test_a_speed_has_one_decimal() -> None:
    """20 tokens in 3 s are 6.666… a second."""
    clock, events = Clock(), list[Event]()
    pace = AnswerPace("judge", events.append, clock)
    with pace.waiting():
        with pace.under_way():
            clock.now += 3
        pace.answered(20)
    pace.report()
    assert events == [working(1, 1, 20, 6.7, 0)]


def test_it_is_told_every_two_seconds_and_of_no_short_wait() -> None:
    clock, events = Clock(), list[Event]()
    pace = AnswerPace("judge", events.append, clock)
    told = []
    for _ in range(10):
        pace.report()
        told.append(len(events))
        clock.now += 0.5
    assert told == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
    assert events[0] == working(0, 0, 0, 0.0, 0)


def test_a_client_tells_while_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """One answer of 20 tokens is there, a second request hangs until the user stops."""
    monkeypatch.setattr(answer_pace, "EVERY", 0.0)
    events: list[Any] = []

    def checkpoint() -> None:
        if events and events[-1].under_way and events[-1].done:
            raise StopRequested

    with misbehaving_server(lambda body: "hello", ["", "hang"]) as server:
        section = OpenAISection(base_url=server.url, api_key_env="none")
        asking = OpenAIClient(section, "here", role="judge", checkpoint=checkpoint, emit=events.append)
        assert asking.complete(HI).completion_tokens == 20
        with pytest.raises(StopRequested):
            asking.complete(HI)
    waiting, over = events[-2:]
    assert (waiting.role, waiting.done, waiting.sequences, waiting.tokens) == ("judge", 1, 2, 20)
    assert waiting.under_way == 1
    assert (over.done, over.sequences, over.under_way) == (1, 1, 0), "what was left is not waited for"


def test_each_look_at_whether_to_go_on_tells_how_far_the_answers_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the run is stopped."""
    looks: list[str] = []
    section = OpenAISection(base_url="http://127.0.0.1:9/v1", api_key_env="none")
    client = OpenAIClient(section, "here", checkpoint=lambda: looks.append("checkpoint"))
    monkeypatch.setattr(client._pace, "report", lambda: looks.append("report"))
    client._poll()
    assert looks == ["checkpoint", "report"]

    def stopped() -> None:
        raise StopRequested

    client._checkpoint = stopped
    with pytest.raises(StopRequested):
        client._poll()
    assert looks == ["checkpoint", "report"]
