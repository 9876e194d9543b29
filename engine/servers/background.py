"""Requests that stay stoppable: coroutines run on one event loop beside the threads that wait for them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import wait
from typing import Any, TypeVar

Result = TypeVar("Result")

POLL_SECONDS = 0.1
"""Seconds between two looks at whether to go on."""

_lock = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []


def finish(coroutine: Coroutine[Any, Any, Result], look: Callable[[], None]) -> Result:
    """What the coroutine returns or raises. `look` is called again and again meanwhile; where it raises, the
    coroutine is cancelled and its connections are closed."""
    future = asyncio.run_coroutine_threadsafe(coroutine, _loop())
    try:
        while not wait([future], timeout=POLL_SECONDS).done:
            look()
    except BaseException:
        future.cancel()
        raise
    return future.result()


def _loop() -> asyncio.AbstractEventLoop:
    """The event loop that all requests share; started at the first request."""
    with _lock:
        if not _loops:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="requests", daemon=True).start()
            _loops.append(loop)
        return _loops[0]
