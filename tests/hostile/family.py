"""A family of parsers of foreign input: good inputs to spoil, the reader, and how one input ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.errors import SteerError

LONGEST_ERROR = 6000
"""Characters of a whole error: what, where and how to mend."""

Kind = Literal["json", "lines", "text", "bytes"]


@dataclass(frozen=True)
class Family:
    """`good`: inputs that are read; `read`: hands an input to the program's own reader, in an empty folder;
    `declared`: errors that the reader's docstring names beside SteerError."""

    name: str
    kind: Kind
    good: Callable[[], Sequence[bytes]]
    read: Callable[[bytes, Path], object]
    declared: tuple[type[Exception], ...] = ()


def ending(family: Family, data: bytes, folder: Path) -> tuple[str, str]:
    """How reading `data` ends: `read`, `told` by a clear error, `unclear` error, or `unforeseen`; and in what words."""
    try:
        family.read(data, folder)
    except SteerError as error:
        return _told(error)
    except family.declared as error:
        return ("told", str(error)) if len(str(error)) <= LONGEST_ERROR else ("unclear", "too long")
    except BaseException as error:  # whatever else comes is what is looked for here
        return "unforeseen", f"{type(error).__name__}: {str(error)[:300]} {_place(error)}"
    return "read", ""


def _told(error: SteerError) -> tuple[str, str]:
    text = str(error)
    try:
        text.encode()
    except UnicodeEncodeError:
        return "unclear", f"half a letter in {text[:200]!a}"
    if len(text) > LONGEST_ERROR:
        return "unclear", f"{len(text):,} characters: {text[:200]!a}"
    if not error.what or not error.hint:
        return "unclear", f"no words on what is wrong, or how to mend it: {text[:200]!a}"
    return "told", text


def _place(error: BaseException) -> str:
    """File and line where it was raised, and the last line of this repository before that."""
    places, trace = [], error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{Path(code.co_filename).name}:{trace.tb_lineno}")
        trace = trace.tb_next
    return " < ".join(reversed(places[-4:]))
