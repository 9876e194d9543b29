"""How rank processes meet in a store, which may still hold entries of processes that have ended.

torchrun restarts all of them when one dies, and may keep the store. So the leader calls with a new random word each
time, every follower answers with its own random word, and joins only a leader that repeats it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar
from uuid import uuid4

from torch._C._distributed_c10d import PrefixStore, Store

from engine.gflownet.training.ranks import RanksFailed

_CALL, _OVER = "call", "over"
_LOOK_EVERY = 0.1
T = TypeVar("T")


def call_all(store: Store, size: int, while_waiting: Callable[[], None]) -> Store:
    """The leader waits until ranks 1 .. `size` - 1 have answered. Returns a store that only these processes use."""
    word = uuid4().hex
    store.set(_CALL, word)
    answers = [f"{word}/{rank}" for rank in range(1, size)]
    while not store.check(answers):
        while_waiting()
        time.sleep(_LOOK_EVERY)
    store.set(f"{word}/go", " ".join(store.get(answer).decode() for answer in answers))
    return PrefixStore(word, store)


def dismiss(store: Store) -> None:
    """The leader announces that there will be no more training."""
    store.set(_CALL, _OVER)


def is_called(store: Store) -> bool:
    """A follower waits for the leader's first word. Returns whether it is a call. Raises RanksFailed."""
    return _patiently(lambda: store.get(_CALL) != _OVER.encode() if store.check([_CALL]) else None)


def answer(store: Store, rank: int) -> Store | None:
    """A follower answers every call until the leader joins it. Returns the store that `call_all` returned, None if
    there is no more training. Raises RanksFailed when the leader is gone."""
    own = uuid4().hex

    def look() -> tuple[Store | None] | None:
        word = store.get(_CALL).decode()
        if word == _OVER:
            return (None,)
        store.set(f"{word}/{rank}", own)
        go = f"{word}/go"
        goes = store.check([go]) and own in store.get(go).decode().split()
        return (PrefixStore(word, store),) if goes else None

    return _patiently(look)[0]


def _patiently(look: Callable[[], T | None]) -> T:
    try:
        while (result := look()) is None:
            time.sleep(_LOOK_EVERY)
    except RuntimeError as error:
        raise RanksFailed(what="the leader is gone", where=str(error).splitlines()[0]) from error
    return result
