from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import pytest

from engine.run.stop_signals import stop_signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_first_signal_stops_and_second_leaves(
    number: signal.Signals, wait_until: Callable[..., None]
) -> None:
    before = [signal.getsignal(one) for one in (number, signal.SIGHUP)]
    woken = signal.set_wakeup_fd(-1)
    said: list[str] = []
    with stop_signals(lambda: said.append("stop"), lambda: said.append("leave")):
        assert [thread.daemon for thread in threading.enumerate() if thread.name == "signals"] == [True]
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), number)
        wait_until(lambda: said == ["stop"], "the stop")
        os.kill(os.getpid(), number)
        wait_until(lambda: said == ["stop", "leave"], "the leave")
    assert [signal.getsignal(one) for one in (number, signal.SIGHUP)] == before
    assert signal.set_wakeup_fd(woken) == -1, "nothing reads that pipe any more"


def test_signal_is_heard_while_the_main_thread_is_busy_elsewhere() -> None:
    """A blocked call of C code, as a long forward pass is: handlers written in Python would wait for it."""
    reader, writer = os.pipe()
    with stop_signals(lambda: os.close(writer), lambda: None):
        os.kill(os.getpid(), signal.SIGTERM)
        assert os.read(reader, 1) == b""
    os.close(reader)
