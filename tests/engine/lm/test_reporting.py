"""What is told of a call to a model, and when."""

from __future__ import annotations

import pytest

from engine.events import Event, ModelWorking
from engine.lm.protocol import Working
from engine.lm.reporting import EVERY, Reporting


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_long_call_is_told_every_few_seconds_and_a_short_one_never() -> None:
    events: list[Event] = []
    clock = Clock()
    reporting = Reporting(events.append, clock=clock)
    first, second = object(), object()
    tokens = [0]

    def work(call: object, seconds: float, passes: int) -> None:
        for _ in range(passes):
            reporting(call, lambda: Working(8, 3, tokens[0], "so far"))
            clock.now += seconds
            tokens[0] += 5

    work(first, EVERY / 8, 8)
    assert events == []
    work(first, EVERY / 8, 8)
    (told,) = events
    assert isinstance(told, ModelWorking)
    assert (told.sequences, told.done, told.tokens, told.text) == (8, 3, 40, "so far")
    assert told.tokens_per_second == pytest.approx(5 / (EVERY / 8))
    tokens[0] = 0
    work(second, EVERY / 2, 2)
    assert len(events) == 1
    work(second, EVERY / 2, 1)
    assert len(events) == 2
    assert isinstance(events[1], ModelWorking)
    assert events[1].tokens_per_second == pytest.approx(10 / EVERY)


def test_a_pace_is_that_since_the_last_report() -> None:
    """A hundred tokens in the first two seconds, sixty in the next four; another call begins anew."""
    events: list[Event] = []
    clock, call = Clock(), object()
    reporting = Reporting(events.append, clock=clock)
    for now, tokens in ((10.0, 0), (12.0, 100), (13.0, 130), (16.0, 160)):
        clock.now = now
        reporting(call, lambda count=tokens: Working(1, 0, count, ""))
    other = object()
    for now, tokens in ((20.0, 160), (21.0, 10), (22.5, 40)):
        clock.now = now
        reporting(other, lambda count=tokens: Working(1, 0, count, ""))
    paces = [event.tokens_per_second for event in events if isinstance(event, ModelWorking)]
    assert paces == [50.0, 15.0, 16.0]


def test_every_pass_is_a_checkpoint() -> None:
    passed: list[int] = []
    reporting = Reporting(lambda event: None, lambda: passed.append(1))
    for _ in range(5):
        reporting(None, lambda: Working(1, 0, 0, ""))
    assert len(passed) == 5
