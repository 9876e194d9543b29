"""Small works, for what the stages' own do not do: wait, fail, die."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from unittest.mock import patch

from engine.config.models.model import ModelSection
from engine.errors import ConfigError, DataError, Problem
from engine.lm.protocol import ModelInfo
from engine.scale.work import WorkContext


@dataclass(frozen=True)
class Squares:
    """`n` -> n². Tells of it. Item 7 takes long."""

    def open(self, context: WorkContext) -> Callable[[int], int]:
        def square(n: int) -> int:
            time.sleep(0.3 if n == 7 else 0.01)
            context.notice(f"item {n}")
            return n * n

        return square


@dataclass(frozen=True)
class Reports:
    """`n` -> whether a file named n appears in `folder` within a while after n was reported."""

    folder: str

    def open(self, context: WorkContext) -> Callable[[int], bool]:
        def wait(n: int) -> bool:
            context.notice(str(n))
            until = time.monotonic() + 30
            while time.monotonic() < until:
                if os.path.exists(os.path.join(self.folder, str(n))):
                    return True
                time.sleep(0.01)
            return False

        return wait


@dataclass(frozen=True)
class Fails:
    """Raises `kind` on item 3; `open` raises where that is wanted."""

    kind: str

    def open(self, context: WorkContext) -> Callable[[int], int]:
        if self.kind == "open":
            raise DataError(what="nothing there", where="some/file", hint="put something there")

        def work(n: int) -> int:
            if n == 3:
                self._fail()
            return n

        return work

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

    def open(self, context: WorkContext) -> Callable[[int], int]:
        def work(n: int) -> int:
            time.sleep(0.02)
            if n == self.fatal and not os.path.exists(self.trace):
                open(self.trace, "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
            return -n

        return work


@dataclass(frozen=True)
class DiesWhenOpened:
    """No process of it ever gets ready."""

    def open(self, context: WorkContext) -> Callable[[int], int]:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


@dataclass(frozen=True)
class Processes:
    """Anything -> the id of the process that is asked."""

    def open(self, context: WorkContext) -> Callable[[int], int]:
        def ask(n: int) -> int:
            time.sleep(0.05)
            return os.getpid()

        return ask


@dataclass(frozen=True)
class OwnWeights:
    """The model at one path has other weights for every process; all but the first, by `trace`, load for long."""

    trace: str

    def open(self, context: WorkContext) -> Callable[[int], int]:
        try:
            open(self.trace, "x").close()
        except FileExistsError:
            time.sleep(2)
        info = ModelInfo("own", "test", "cpu", "float32", 1, 1, 1, 1, fingerprint=str(os.getpid()))
        with patch("engine.lm.loading.load.load_model", lambda section: SimpleNamespace(info=info)):
            context.load_model(ModelSection(backend="transformers", path="own"))

        def wait(n: int) -> int:
            time.sleep(0.05)
            return n

        return wait


@dataclass(frozen=True)
class Folder:
    """Anything -> the folder that the process is in."""

    def open(self, context: WorkContext) -> Callable[[int], str]:
        return lambda n: os.getcwd()


@dataclass(frozen=True)
class Devices:
    """Anything -> the GPUs that the process may see."""

    def open(self, context: WorkContext) -> Callable[[int], str | None]:
        return lambda n: os.environ.get("CUDA_VISIBLE_DEVICES")
