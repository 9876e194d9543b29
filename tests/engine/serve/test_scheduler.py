"""What the scheduler tells of how busy it is. No model runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from engine.config.serve import ServeSection
from engine.events import Event, ServeLoad
from engine.serve import scheduler
from engine.serve.scheduler import Busy, RequestScheduler


def test_load_is_told_once_a_second_where_something_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(scheduler, "time", SimpleNamespace(monotonic=lambda: now[0]))
    levers: Any = SimpleNamespace(model=SimpleNamespace(open=lambda prompts: None))
    events: list[Event] = []
    section = ServeSection(max_in_flight=1, max_waiting=1)
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
