"""Small works, for what the stages' own do not do: wait, fail, die."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from engine.errors import ConfigError, DataError, Problem
from engine.scale.work import Place


@dataclass(frozen=True)
class Squares:
    """`n` -> n². Hands n over early and tells of it. Item 7 takes long."""

    def open(self, place: Place) -> Callable[[int], int]:
        def square(n: int) -> int:
            time.sleep(0.3 if n == 7 else 0.01)
            place.keep(n)
            place.notice(f"item {n}")
            return n * n

        return square

    def size(self, item: int) -> int:
        return 1


@dataclass(frozen=True)
class Fails:
    """Raises `kind` on item 3; `open` raises where that is wanted."""

    kind: str

    def open(self, place: Place) -> Callable[[int], int]:
        if self.kind == "open":
            raise DataError(what="nothing there", where="some/file", mend="put something there")

        def work(n: int) -> int:
            if n == 3:
                self._fail()
            return n

        return work

    def size(self, item: int) -> int:
        return 1

    def _fail(self) -> None:
        if self.kind == "config":
            raise ConfigError([Problem("a.b", "1", "2")])
        if self.kind == "unforeseen":
            raise ZeroDivisionError("by zero")
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class DiesOnce:
    """The process that gets item `fatal` first dies of it; `trace` remembers that it did."""

    trace: str
    fatal: int

    def open(self, place: Place) -> Callable[[int], int]:
        def work(n: int) -> int:
            time.sleep(0.02)
            if n == self.fatal and not os.path.exists(self.trace):
                open(self.trace, "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
            return -n

        return work

    def size(self, item: int) -> int:
        return 1


@dataclass(frozen=True)
class DiesWhenOpened:
    """No process of it ever gets ready."""

    def open(self, place: Place) -> Callable[[int], int]:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    def size(self, item: int) -> int:
        return 1


@dataclass(frozen=True)
class Processes:
    """Anything -> the id of the process that is asked."""

    def open(self, place: Place) -> Callable[[int], int]:
        def ask(n: int) -> int:
            time.sleep(0.05)
            return os.getpid()

        return ask

    def size(self, item: int) -> int:
        return 1
