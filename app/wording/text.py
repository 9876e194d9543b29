"""Durations, counts and errors as text of one line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from engine.errors import ConfigError, SteerError
from engine.events import ModelLoading, ModelWorking

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

_LONGEST = 1e10
"""Seconds, some centuries: what is longer is no duration."""


def without_controls(text: str) -> str:
    """`text` without control codes, so that a terminal draws it and does nothing else; line breaks and tabs stay."""
    return _CONTROL.sub("", text) if _CONTROL.search(text) else text


def duration(seconds: float) -> str:
    """`0:07`, `12:30`, `1:02:03`."""
    if not seconds < _LONGEST:
        return "?"
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def counted(count: int, nouns: str) -> str:
    """`2,000 events`, `1 event`, `1 query`: a number with its noun, which is given in the plural."""
    if count == 1:
        nouns = nouns[:-3] + "y" if nouns.endswith("ies") else nouns.removesuffix("s")
    return f"{count:,} {nouns}"


def listed(names: Sequence[str]) -> str:
    """`mine, select and eval`"""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def how_many(done: int, total: int, unit: str) -> str:
    """`50 of 100 items`; `50 items so far` where nobody knows how many there will be."""
    return f"{done:,} of {counted(total, unit)}" if total else f"{counted(done, unit)} so far"


def how_far(done: int, total: int) -> str:
    """`50/100`; `50` where nobody knows how many there will be."""
    return f"{done:,}/{total:,}" if total else f"{done:,}"


def model_pace(working: ModelWorking) -> str:
    """`the model writes 41 of 256 texts, 35 tokens/s`; behind a server `judge: 41 of 49 answers, 2 being written, …`"""
    done, speed = f"{working.done:,} of", f", {working.tokens_per_second:,.0f} tokens/s"
    if not working.role:
        return f"the model writes {done} {counted(working.sequences, 'texts')}{speed}"
    writing = f"{counted(working.sequences, 'answers')}, {working.under_way:,} being written"
    return f"{working.role}: {done} {writing}{speed if working.tokens else ''}"


def error_line(what: str, where: str = "", hint: str = "") -> str:
    """`what (where): mend`, on one line."""
    text = what + (f" ({where})" if where else "") + (f": {hint}" if hint else "")
    return " ".join(text.split())


def error_lines(error: SteerError) -> list[str]:
    """An error as lines to print: a line, or a line for each problem of a configuration."""
    if isinstance(error, ConfigError):
        return [str(problem) for problem in error.problems]
    return [error_line(error.what, error.where, error.hint)]


def resume_command(run: Path) -> str:
    """The command that resumes a run."""
    return f"steer-tui batch --resume {shlex.quote(str(run))}"


def kept_line(run: Path, first: str) -> str:
    """`stopped; kept in outputs/demo/1; to resume: …`. `first`: how the run was left, or nothing."""
    return f"{first}{'; ' * bool(first)}kept in {run}; to resume: {resume_command(run)}"


def file_size(size: int) -> str:
    """Bytes as `98 MB` or `4.7 GB`."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def loading(event: ModelLoading) -> str:
    """`loading model smollm2, 98 MB: unpacking 45%`"""
    size = f", {file_size(event.size)}" if event.size else ""
    return f"loading model {event.name}{size}" + (f": {event.doing} {event.share:.0%}" if event.doing else "")
