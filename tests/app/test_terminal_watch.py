"""A console whose terminal has disconnected: told by a signal, then ended."""

from __future__ import annotations

import os
import signal
import termios
from types import SimpleNamespace
from typing import Any

import pytest

from app.terminal import watch


@pytest.mark.parametrize(("error", "gone"), [(None, False), (termios.error, True), (OSError, True)])
def test_what_cannot_be_asked_for_its_settings_is_gone(
    error: type[Exception] | None, gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def settings(descriptor: int) -> list[int]:
        assert descriptor == 7
        if error is not None:
            raise error
        return []

    monkeypatch.setattr(watch.termios, "tcgetattr", settings)
    assert watch.is_disconnected(7) is gone


def test_it_looks_each_second_and_ends_what_does_not_leave_within_five(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The exit status is that of a process that the signal ended: 128 + 1."""
    done: list[Any] = []
    looks = iter((False, False, True))
    monkeypatch.setattr(watch, "is_disconnected", lambda descriptor: next(looks))
    monkeypatch.setattr(watch, "time", SimpleNamespace(sleep=done.append))
    monkeypatch.setattr(
        watch,
        "os",
        SimpleNamespace(
            kill=lambda *given: done.append(given),
            getpid=lambda: 4711,
            _exit=lambda code: done.append(("exit", code)),
        ),
    )
    watch._watch(7)
    assert done == [1.0, 1.0, (4711, signal.SIGHUP), 5.0, ("exit", 129)]


@pytest.mark.parametrize("terminal", [True, False])
def test_only_a_terminal_is_watched(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[dict[str, Any]] = []
    monkeypatch.setattr(os, "isatty", lambda descriptor: terminal and descriptor == 7)
    monkeypatch.setattr(
        watch.threading, "Thread", lambda **given: SimpleNamespace(start=lambda: begun.append(given))
    )
    watch.watch_terminal(7)
    expected = {"target": watch._watch, "args": (7,), "name": "terminal", "daemon": True}
    assert begun == ([expected] if terminal else [])
