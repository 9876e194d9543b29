"""A model's chat template, which is code of whoever made the model. Jinja's sandbox keeps it from files and from this
program, not from running for ever."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import lru_cache
from types import FrameType
from typing import Any

from jinja2 import Environment, TemplateSyntaxError
from jinja2.filters import do_round

LONGEST = 5.0
"""Seconds of the processor's time for one conversation, of which templates take a thousandth."""
_MOST_DIGITS = 20


class _Refused(BaseException):
    """No `Exception`: nothing on its way out may take it for the template's own."""


def within_limits(render: Callable[[], str], seconds: float = LONGEST) -> str:
    """What `render` makes of a template. Raises TimeoutError where that takes longer, ValueError for a rounding to
    very many digits, which is one step that does not end.

    The limit is looked at where Python goes to another line of the template, in whichever thread this is: a signal
    comes only to the main one.
    """
    end = time.thread_time() + seconds

    def look(frame: FrameType, event: str, argument: Any) -> Any:
        if time.thread_time() > end:
            raise _Refused(TimeoutError(f"it is not done within {seconds:g} s"))
        if event == "call" and frame.f_code is do_round.__code__ and _is_large(frame.f_locals["precision"]):
            raise _Refused(ValueError("it rounds to very many digits"))
        return look if frame.f_code.co_filename == "<template>" else None

    before = sys.gettrace()
    sys.settrace(look)
    try:
        return render()
    except _Refused as refused:
        raise refused.args[0] from None
    finally:
        sys.settrace(before)


@lru_cache(maxsize=8)
def takes_powers(template: str) -> bool:
    """Whether a template has the operator `**`: a single one with large numbers takes hours, and no conversation needs
    it."""
    before = ""
    try:
        for _, kind, text in Environment().lex(template):
            # Behind these it hands on arguments.
            if kind == "operator" and text == "**" and before not in ("(", ","):
                return True
            before = before if kind == "whitespace" else text
    except TemplateSyntaxError:
        pass  # which rendering tells
    return False


def _is_large(precision: object) -> bool:
    return isinstance(precision, int) and abs(precision) > _MOST_DIGITS
