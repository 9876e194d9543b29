"""One thing that a class is tried on, and what is seen: it raises, blocks, returns what it should not, or another time
something else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.custom_class import error_text
from engine.errors import SteerError

SECONDS = 60.0
"""In which a call has to return."""
HUGE = 1_000_000
"""Characters of the longest text."""

TEXTS = {
    "an ordinary text": "The answer is 42.",
    "an empty text": "",
    "blanks and line ends": " \n\t\r\n ",
    "letters of other scripts": "四十二 — сорок два — أربعون — e\u0301 — 👩‍🔬",
    "control characters": "a\x00b\x1b[31mc\u202e",
    "markup": '[bold]{"answer": null} </s> <think> % {}',
    f"a text of {HUGE:,} characters": "forty-two " * (HUGE // 10),
}
"""What models write, and what they should not."""

_ALL = "all of these at once, in threads"


@dataclass(frozen=True)
class Seen:
    """What came of a trial. `problem`: what is wrong, "" if nothing is."""

    trial: str
    problem: str = ""


@dataclass(frozen=True)
class Trial:
    """`call` does it on an object, `problem_of` says what is wrong with what it returned, "" if nothing is."""

    name: str
    call: Callable[[Any], Any]
    problem_of: Callable[[Any], str]


@dataclass
class _Call:
    """What a call in a thread returned or raised; neither while it goes on."""

    returned: Any = None
    raised: BaseException | None = None


def tried(
    make: Callable[[], Any],
    trials: Sequence[Trial],
    seconds: float = SECONDS,
    begin: Callable[[str], None] = lambda trial: None,
) -> list[Seen]:
    """Each trial, twice and on an object of its own each time, and all of them again side by side on one object. After
    a call that does not return nothing further is tried: it cannot be ended. `begin` is called with what is tried
    next."""
    seen: list[Seen] = []
    first: list[Any] = []
    for trial in trials:
        begin(trial.name)
        calls = _at_once([lambda: trial.call(make())], seconds)  # noqa: B023
        problem = _problem(trial, calls[0], seconds)
        if calls[0] is None:
            return [*seen, Seen(trial.name, problem)]
        first.append(calls[0].returned)
        if not problem:
            again = _at_once([lambda: trial.call(make())], seconds)[0]  # noqa: B023
            problem = _differs(again, calls[0].returned, "the same call on a new object")
        seen.append(Seen(trial.name, problem))
    if not any(one.problem for one in seen):
        begin(_ALL)
        seen.append(Seen(_ALL, _in_threads(make, trials, first, seconds)))
    return seen


def failure_of(call: Callable[[], Any], seconds: float) -> str:
    """Why a call fails, or does not return; "" where it does."""
    (one,) = _at_once([call], seconds)
    if one is None:
        return f"it did not return within {seconds:g} seconds"
    return "" if one.raised is None else _text_of(one.raised)


def _in_threads(
    make: Callable[[], Any], trials: Sequence[Trial], first: Sequence[Any], seconds: float
) -> str:
    instance = make()
    calls = _at_once([lambda trial=trial: trial.call(instance) for trial in trials], seconds)
    for trial, call, before in zip(trials, calls, first, strict=True):
        if problem := _differs(call, before, f"{trial.name}: the call beside others"):
            return problem
    return ""


def _text_of(error: BaseException) -> str:
    return str(error) if isinstance(error, SteerError) else error_text(error)


def _problem(trial: Trial, call: _Call | None, seconds: float) -> str:
    if call is None:
        return f"it did not return within {seconds:g} seconds: the run would stand still"
    if call.raised is not None:
        return f"it raised {_text_of(call.raised)}"
    return trial.problem_of(call.returned)


def _differs(call: _Call | None, before: Any, what: str) -> str:
    if call is None:
        return f"{what} did not return"
    if call.raised is not None:
        return f"{what} raised {_text_of(call.raised)}"
    if repr(call.returned) == repr(before):
        return ""
    return f"{what} gave something else, so a resumed run would not end as an uninterrupted one: draw from a seed"


def _at_once(calls: Sequence[Callable[[], Any]], seconds: float) -> list[_Call | None]:
    """What each did; None for one that goes on after `seconds`. Such a thread is left behind."""
    done = [_Call() for _ in calls]

    def run(place: int) -> None:
        try:
            done[place].returned = calls[place]()
        except BaseException as error:
            done[place].raised = error

    threads = [threading.Thread(target=run, args=(place,), daemon=True) for place in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds)
    return [None if thread.is_alive() else one for thread, one in zip(threads, done, strict=True)]
