"""Ends a console whose terminal has disconnected: nobody sees it, and nobody can end it.

A closed window sends SIGHUP to the session that it leads. A console in another session, or behind a terminal that
broke, gets no signal: what shows it is that the terminal's settings cannot be read any more.
"""

from __future__ import annotations

import os
import signal
import termios
import threading
import time

_POLL_SECONDS = 1.0
_PATIENCE = 5.0
"""Seconds in which the console may leave by itself; it may hang in writing to what has disconnected."""


def watch_terminal(descriptor: int = 0) -> None:
    """Watch in a thread of its own, if `descriptor` is a terminal: SIGHUP once it has disconnected, then the end."""
    if os.isatty(descriptor):
        threading.Thread(target=_watch, args=(descriptor,), name="terminal", daemon=True).start()


def is_disconnected(descriptor: int) -> bool:
    """Whether the terminal that was there is no more."""
    try:
        termios.tcgetattr(descriptor)
    except (termios.error, OSError):
        return True
    return False


def _watch(descriptor: int) -> None:
    while not is_disconnected(descriptor):
        time.sleep(_POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGHUP)
    time.sleep(_PATIENCE)
    os._exit(128 + signal.SIGHUP)
