"""A console whose terminal has disconnected ends itself."""

from __future__ import annotations

import os
import pty
import signal
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from app.terminal import watch


def test_it_looks_every_second_and_leaves_it_five_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGHUP first, as a terminal sends it; then the end with the exit status of that signal."""
    looks, done = iter((False, False, True)), list[Any]()
    monkeypatch.setattr(watch, "is_disconnected", lambda descriptor: next(looks))
    monkeypatch.setattr(watch, "time", SimpleNamespace(sleep=done.append))
    monkeypatch.setattr(os, "kill", lambda pid, number: done.append((pid, number)))
    monkeypatch.setattr(os, "_exit", lambda code: done.append(f"exit {code}"))
    watch._watch(0)
    assert done == [1.0, 1.0, (os.getpid(), signal.SIGHUP), 5.0, "exit 129"]


def test_what_is_no_terminal_is_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal is, in a thread that keeps nobody from leaving; once closed it has disconnected."""
    seen: list[int] = []
    monkeypatch.setattr(watch, "_watch", seen.append)
    begun: list[bool] = []

    class Thread(threading.Thread):
        def start(self) -> None:
            begun.append(self.daemon)
            self.run()

    monkeypatch.setattr(watch, "threading", SimpleNamespace(Thread=Thread))
    master, terminal = pty.openpty()
    pipe, other = os.pipe()
    for descriptor in (terminal, pipe):
        watch.watch_terminal(descriptor)
    assert seen == [terminal] and begun == [True]
    assert not watch.is_disconnected(terminal) and watch.is_disconnected(pipe)
    for descriptor in (master, terminal, pipe, other):
        os.close(descriptor)
    assert watch.is_disconnected(terminal)
