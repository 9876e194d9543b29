"""When a console under test has done what there was to do: at once, where Textual's own pilot waits 20 ms and more.

Textual takes a console for idle when its process has used hardly any processor time for 20 ms, and it looks so before
and after each key. Here the event loop itself is asked: nothing is ready to run, and no timer ends within the time that
Textual would have waited at least. That is known without waiting, and on a busy machine, too. Threads are not seen from
the loop; while one is at work, Textual's way is taken.
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any
from weakref import WeakSet

import textual.app
import textual.constants
import textual.pilot
import textual.screen
from textual._wait import SLEEP_GRANULARITY, wait_for_idle

_before: WeakSet[threading.Thread] = WeakSet()
"""Threads that an earlier test left behind, or that serve a whole file: no console of this test waits for them."""
_SOON = SLEEP_GRANULARITY
"""Seconds: a timer that ends sooner belongs to what is waited for."""


async def wait_until_idle(min_sleep: float = SLEEP_GRANULARITY, max_sleep: float = 1) -> None:
    """In place of `textual._wait.wait_for_idle`."""
    loop: Any = asyncio.get_running_loop()
    deadline = time.monotonic() + max_sleep
    while time.monotonic() < deadline:
        if _threads_at_work(loop):
            await wait_for_idle(min_sleep, max(0.0, deadline - time.monotonic()))
            if _threads_at_work(loop):
                return
        await asyncio.sleep(0)
        if loop._ready:
            continue
        now = loop.time()
        ends = min((timer.when() for timer in loop._scheduled if not timer.cancelled()), default=now + 1)
        if ends - now > _SOON:
            return
        await asyncio.sleep(max(0.0, ends - now))


def _threads_at_work(loop: Any) -> bool:
    """Threads of the loop's executor that wait for work are not."""
    executor = loop._default_executor
    resting = executor._idle_semaphore._value if executor and not executor._work_queue.qsize() else 0
    started = sum(thread not in _before for thread in threading.enumerate())
    return started - resting > 0


def begin_test() -> None:
    """Threads that are there are not this test's."""
    _before.clear()
    _before.update(threading.enumerate())


def use_it() -> None:
    """For every pilot from now on. What has changed is drawn at once, not 60 times a second, and lists
    scroll at once: a pilot waits until what moves has come to its place."""
    textual.constants.TEXTUAL_ANIMATIONS = "none"  # pyright: ignore[reportAttributeAccessIssue]
    textual.screen.UPDATE_PERIOD = 0.001  # pyright: ignore[reportConstantRedefinition]
    for module in (textual.app, textual.pilot):
        setattr(module, wait_for_idle.__name__, wait_until_idle)
