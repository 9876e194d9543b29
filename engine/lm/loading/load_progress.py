"""How far loading a model is, from the bars that the libraries draw: nobody sees those, but they know."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from contextvars import ContextVar
from io import TextIOBase
from typing import TextIO

Tell = Callable[[str, float], None]
"""(what is being done, share between 0 and 1)."""

_BAR = re.compile(r"([^\r\n]*?):?\s*(\d{1,3})%\|[^\r\n]*")
_listener: ContextVar[Tell | None] = ContextVar("listener", default=None)


@contextmanager
def listening(tell: Tell) -> Iterator[None]:
    """While open, `tell` is called with each step of each bar, from whichever thread draws it."""
    token = _listener.set(tell)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def reading_bars() -> Iterator[None]:
    """While open, bars that are drawn on the standard error stream are read and do not reach it; all else does."""
    with redirect_stderr(_Bars(sys.stderr, _listener.get())):
        yield


class _Bars(TextIOBase):
    """A stream that takes what is written to the standard error stream."""

    def __init__(self, beyond: TextIO, tell: Tell | None) -> None:
        self._beyond = beyond
        self._tell = tell
        self._in_line = False  # of another text than a bar: `print` writes its parts one by one

    def write(self, text: str, /) -> int:
        rest = _BAR.sub(self._take, text)
        if rest.strip("\r\n\x1b[A ") or (self._in_line and rest in (" ", "\n")):
            self._beyond.write(rest)
            self._in_line = not rest.endswith("\n")
        return len(text)

    def flush(self) -> None:
        self._beyond.flush()

    def _take(self, bar: re.Match[str]) -> str:
        if self._tell is not None:
            self._tell(_in_words(bar[1].strip()), int(bar[2]) / 100)
        return ""


def _in_words(title: str) -> str:
    if title.startswith(("Loading", "Converting")) or not title:
        return "reading the weights"
    return f"fetching {title}"
