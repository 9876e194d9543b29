"""What the overview shows of a method besides its verdict: a curve, and places that are worth opening."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate

from app.methods.cases import Cases
from app.methods.place import Place
from app.state.run import RunState
from app.table.column import T
from app.wording.text import counted
from engine.events import Verdict

_FEW = 10


@dataclass(frozen=True)
class Curve:
    """`figure`: what runs up; `over`: what it runs over; `name`: whose it is. `baseline`: as many values as were known
    then, or one that is a level; none where there is nothing to compare with. `digits`: behind the point."""

    figure: str
    over: str
    name: str
    values: tuple[float, ...]
    baseline_name: str = ""
    baseline: tuple[float, ...] = ()
    digits: int = 3


@dataclass(frozen=True)
class Highlight:
    """`text`: what is to be seen at the place."""

    text: str
    place: Place


def _nothing(state: RunState) -> None:
    return None


@dataclass(frozen=True)
class Overview:
    """`curve`: else the verdict's is drawn; `highlights`: the most informative first; `verdict_so_far`: what the newest
    figures say, before a stage has stated a verdict; `untested`: what can be said while nothing is compared."""

    curve: Callable[[RunState], Curve | None] = _nothing
    highlights: Callable[[RunState], list[Highlight]] = lambda state: []
    verdict_so_far: Callable[[RunState], Verdict | None] = _nothing
    untested: Callable[[RunState], str] = lambda state: ""


def first_of(
    cases: Cases[T], state: RunState, matches: Callable[[T], bool], nouns: str, which: str
) -> list[Highlight]:
    """`2 questions of which no path meets an answer`, at the first of them; nothing where no row matches."""
    rows = cases.matching(state, matches)
    return [Highlight(f"{counted(len(rows), nouns)} {which}", Place(cases.name, rows[0]))] if rows else []


def running_means(values: Iterable[float | None]) -> tuple[float, ...]:
    """The mean of all values so far, after each of them; without those that are not known. Of many, the first means
    are left out: they are of few values, and would set the scale."""
    known = [float(value) for value in values if value is not None]
    means = tuple(total / count for count, total in enumerate(accumulate(known), 1))
    return means[_FEW:] if len(means) >= 4 * _FEW else means
