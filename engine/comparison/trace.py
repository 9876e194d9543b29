"""An item's way through a run as steps, and where two runs first part.

Steps of two runs are aligned by their key: a control point, a turn, a rank. Figures that differ by rounding are the
same: examples that are decoded in other batches have other last digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

Value = str | float | bool | None
_RELATIVE, _ABSOLUTE = 1e-3, 1e-4
"""Figures that are nearer than this are equal."""


@dataclass(frozen=True)
class Step:
    """`decided`: what was decided here, by name; `weighed`: the probabilities it was decided from; `text`: what was
    written. `weighed_as`: what `weighed` holds, in a word. `note`: a line about the step that is shown and not
    compared. `called`: what ids among these are called."""

    key: str
    title: str
    decided: dict[str, Value] = field(default_factory=dict)
    weighed: dict[str, Value] = field(default_factory=dict)
    text: str = ""
    note: str = ""
    weighed_as: str = "probability"
    called: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StepPair:
    """The same step in both runs; None where a run has none. `differs`: names of what differs, `text` and the
    word for what was weighed among them."""

    a: Step | None
    b: Step | None
    differs: tuple[str, ...]
    weighed_otherwise: bool

    @property
    def step(self) -> Step:
        """From the run that has it."""
        step = self.a or self.b
        assert step is not None
        return step

    @property
    def written_otherwise(self) -> bool:
        """Whether the texts differ."""
        return (self.a.text if self.a else "") != (self.b.text if self.b else "")


@dataclass(frozen=True)
class AlignedTraces:
    """Two traces, aligned. `first`: index of the first step that was decided otherwise, None if there is none;
    `first_weighed`: of the first step before it at which only the probabilities differ; `first_text`: of the first
    step whose text differs, which may come later."""

    steps: list[StepPair]
    first: int | None
    first_weighed: int | None
    first_text: int | None

    @property
    def summary(self) -> str:
        """`m 3: entry, α, text`; empty where both did the same."""
        if self.first is None:
            return ""
        pair = self.steps[self.first]
        return f"{pair.step.title}: {', '.join(pair.differs)}"


def align(a: Sequence[Step], b: Sequence[Step]) -> AlignedTraces:
    """The steps of both traces by key, in the order of the longer one, and where they part."""
    mine, other = {step.key: step for step in a}, {step.key: step for step in b}
    longer, shorter = (mine, other) if len(mine) >= len(other) else (other, mine)
    keys = _merged(list(longer), list(shorter))
    pairs = [_pair(mine.get(key), other.get(key)) for key in keys]
    first = next((i for i, pair in enumerate(pairs) if pair.differs), None)
    before = pairs[:first]
    weighed = next((i for i, pair in enumerate(before) if pair.weighed_otherwise), None)
    written = next((i for i, pair in enumerate(pairs) if pair.written_otherwise), None)
    return AlignedTraces(pairs, first, weighed, written)


def _merged(keys: list[str], others: list[str]) -> list[str]:
    """`keys`, with each of `others` that is not among them behind the one that it follows."""
    merged = list(keys)
    for at, key in enumerate(others):
        if key not in merged:
            merged.insert(merged.index(others[at - 1]) + 1 if at else 0, key)
    return merged


def _pair(a: Step | None, b: Step | None) -> StepPair:
    if a is None or b is None:
        return StepPair(a, b, ("only in A" if b is None else "only in B",), False)
    decided = _differing(a.decided, b.decided)
    weighed = bool(_differing(a.weighed, b.weighed))
    differs = [*decided, *(["text"] if a.text != b.text else [])]
    if weighed and differs:
        differs.append(a.weighed_as)
    return StepPair(a, b, tuple(differs), weighed)


def _differing(a: dict[str, Value], b: dict[str, Value]) -> list[str]:
    return [name for name in dict.fromkeys((*a, *b)) if not same(a.get(name), b.get(name))]


def same(a: Value, b: Value) -> bool:
    """Whether two values are equal, figures up to rounding."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
    return a == b
