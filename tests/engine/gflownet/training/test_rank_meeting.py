"""Leader and followers meet, whatever processes before them left in the store."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from torch._C._distributed_c10d import HashStore, Store

from engine.gflownet.training.rank_meeting import answer, call_all, dismiss, is_called


@pytest.fixture
def store() -> Store:
    made = HashStore()
    made.set_timeout(timedelta(seconds=20))
    return made


def met(leader: Store | None, follower: Store | None) -> bool:
    """Whether both got the same store."""
    assert leader is not None and follower is not None
    leader.set("word", "heard")
    return follower.check(["word"])


def impatience() -> None:
    raise TimeoutError


def test_all_meet_in_a_store_of_their_own(store: Store):
    with ThreadPoolExecutor(3) as pool:
        followers = [pool.submit(answer_called, store, rank) for rank in (1, 2)]
        leader = call_all(store, 3, lambda: None)
        assert all(met(leader, follower.result(20)) for follower in followers)


def answer_called(store: Store, rank: int) -> Store | None:
    return answer(store, rank) if is_called(store) else None


def test_a_follower_does_not_go_with_the_leader_of_a_training_that_broke(store: Store):
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(answer_called, store, 1)
        old = call_all(store, 2, lambda: None)
        assert met(old, first.result(20))
        # both were killed; the follower is back first and finds the old call, its answer and the old go
        second = pool.submit(answer_called, store, 1)
        with pytest.raises(TimeoutError):
            second.result(0.5)
        new = call_all(store, 2, lambda: None)
        assert met(new, second.result(20))


def test_a_leader_waits_for_a_follower_that_lives(store: Store):
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(answer_called, store, 1)
        call_all(store, 2, lambda: None)
        first.result(20)
        with pytest.raises(TimeoutError):
            call_all(store, 2, impatience)


@pytest.mark.parametrize("broke", [False, True])
def test_followers_are_dismissed_where_there_is_no_training(store: Store, broke: bool):
    with ThreadPoolExecutor(1) as pool:
        if broke:  # its training is through, but it was killed behind it
            first = pool.submit(answer_called, store, 1)
            call_all(store, 2, lambda: None)
            first.result(20)
        waiting = pool.submit(answer_called, store, 1)
        dismiss(store)
        assert waiting.result(20) is None
