"""Signals of a worker: SIGTERM and SIGINT ask for a stop, a second one leaves at once, SIGHUP is not noticed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_ASKING = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stop_signals(stop: Callable[[], None], leave: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first signal and `leave` at the second, while inside. Main thread only.

    Python runs signal handlers when the main thread next comes back from what it is at, which may be minutes
    of a tensor library's work. The interpreter's own handler writes into a pipe at once, so a thread reads that.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    thread = threading.Thread(target=_listen, args=(reader, stop, leave), name="signals", daemon=True)
    before = {number: signal.signal(number, lambda number, frame: None) for number in _ASKING}
    before[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    woken = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(woken)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(writer)
        thread.join()
        os.close(reader)


def _listen(reader: int, stop: Callable[[], None], leave: Callable[[], None]) -> None:
    asked = False
    while numbers := os.read(reader, 64):
        for number in numbers:
            if number in _ASKING:
                leave() if asked else stop()
                asked = True
