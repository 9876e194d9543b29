import time
from collections.abc import Iterator
from threading import Barrier, Event

import pytest

from engine.servers.in_order import in_order


def test_answers_come_in_order_whichever_is_ready_first() -> None:
    both = Barrier(2, timeout=10)

    def ask(item: int) -> int:
        if item < 2:
            both.wait()  # two are really asked at once
        time.sleep(0.02 * (3 - item))
        return item * item

    assert list(in_order(ask, range(4), at_once=2)) == [0, 1, 4, 9]


def test_nothing_is_asked_after_a_failure_however_late_it_is_looked_at() -> None:
    asked: list[int] = []

    def ask(item: int) -> int:
        asked.append(item)
        if item == 2:
            raise ValueError("two")
        return item

    found: Iterator[int] = in_order(ask, range(100), at_once=1)
    got = [next(found)]
    time.sleep(0.2)
    with pytest.raises(ValueError, match="two"):
        got.extend(found)
    assert got == [0, 1]
    assert asked == [0, 1, 2]


def test_of_two_at_once_the_failure_is_told_and_not_the_others_giving_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first one is taken, but looks only when the second has failed."""

    class SeenLate(Event):
        looks = 0

        def is_set(self) -> bool:
            self.looks += 1
            if self.looks == 1:
                self.wait(10)
            return super().is_set()

    def ask(item: int) -> int:
        if item == 1:
            raise ValueError("one")
        return item

    monkeypatch.setattr("engine.servers.in_order.Event", SeenLate)
    with pytest.raises(ValueError, match="one"):
        list(in_order(ask, range(2), at_once=2))
