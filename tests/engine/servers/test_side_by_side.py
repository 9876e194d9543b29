import time
from collections.abc import Iterator
from threading import Event, Thread, Timer

import pytest

from engine.servers.side_by_side import Calls, for_each_side_by_side


class Stop(Exception):
    """What a checkpoint raises."""


def go_on() -> None:
    """A checkpoint that lets pass."""


def test_each_is_handed_over_as_soon_as_it_is_there() -> None:
    """The first waits until the second has been handed over, though it was asked before."""
    second, handed = Event(), list[tuple[int, int]]()

    def ask(item: int) -> int:
        return item * item if item else int(second.wait(10))

    def done(item: int, found: int) -> None:
        handed.append((item, found))
        second.set()

    for_each_side_by_side(ask, range(5), 2, done, go_on)
    assert handed[0] == (1, 1) and sorted(handed) == [(0, 1), (1, 1), (2, 4), (3, 9), (4, 16)]


def test_an_item_is_taken_when_its_turn_comes() -> None:
    taken: list[int] = []
    handed: list[int] = []

    def items() -> Iterator[int]:
        for item in range(6):
            taken.append(item)
            yield item

    def done(item: int, _: object) -> None:
        handed.append(item)
        assert len(taken) <= len(handed) + 1

    for_each_side_by_side(lambda item: None, items(), 2, done, go_on)
    assert taken == sorted(handed) == list(range(6))


def test_while_the_checkpoint_blocks_nothing_is_begun() -> None:
    asked: list[int] = []
    looks: list[int] = []
    paused, resumed = Event(), Event()

    def checkpoint() -> None:
        looks.append(0)
        if len(looks) == 2:
            paused.set()
            resumed.wait(10)

    work = (asked.append, range(6), 2, lambda item, found: None, checkpoint)
    thread = Thread(target=for_each_side_by_side, args=work)
    thread.start()
    assert paused.wait(10)
    time.sleep(0.1)
    assert asked == [0, 1]
    resumed.set()
    thread.join(10)
    assert sorted(asked) == list(range(6))


@pytest.mark.parametrize("who", ("checkpoint", "ask", "done"))
def test_after_a_stop_what_was_begun_is_ended_and_handed_over(who: str) -> None:
    """The second and the third are under way when the first goes wrong."""
    asked: list[int] = []
    handed: list[int] = []
    failed = Event()

    def fail(name: str) -> None:
        if who == name:
            failed.set()
            raise Stop

    def ask(item: int) -> None:
        asked.append(item)
        if item:
            failed.wait(10)
            time.sleep(0.05)
        else:
            fail("ask")

    def done(item: int, _: object) -> None:
        if not item:
            fail("done")
        handed.append(item)

    def checkpoint() -> None:
        if asked:
            fail("checkpoint")

    with pytest.raises(Stop):
        for_each_side_by_side(ask, range(9), 3, done, checkpoint)
    if who == "checkpoint":
        assert sorted(handed) == sorted(asked)
    assert set(handed) >= {1, 2} and len(asked) == 3


def test_where_a_block_fails_no_further_call_starts() -> None:
    """One is under way, two wait for their turn; what has begun ends, and is not handed over any more."""
    begun, through = Event(), Event()
    asked: list[int] = []
    handed: list[int] = []

    def ask(item: int) -> None:
        asked.append(item)
        begun.set()
        through.wait(10)

    with pytest.raises(Stop), Calls(ask, 1, lambda item, found: handed.append(item)) as calls:
        for item in range(3):
            calls.add(item)
        assert begun.wait(10)
        Timer(0.02, through.set).start()
        raise Stop
    assert asked == [0] and handed == []
