"""Numbers in texts: read with their separators, currency, percent, scale words and signs, and compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "k": 1e3, "m": 1e6, "mm": 1e6,
           "mn": 1e6, "bn": 1e9, "b": 1e9}  # fmt: skip
_NUMBER = re.compile(
    r"(?P<open>\()?(?<!\w)(?P<sign>[-\u2212])?\s?(?P<unit>[$€£])?\s?(?P<sign2>[-\u2212])?"
    r"(?<![\w.])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"\s?(?P<percent>%|percent\b|per\scent\b)?(?P<close>\))?"
    r"(?:\s?(?P<scale>thousand|million|billion|trillion|bn|mm|mn|[kmb])\b)?",
    re.IGNORECASE,
)
_FINAL = re.compile(r"\banswer(?:\s+is|\s*[:=])|####|\\boxed", re.IGNORECASE)
_YEARS = range(1900, 2101)
_EXACT = 1e-13
"""Relative difference that decimals leave behind."""


@dataclass(frozen=True)
class Quantity:
    """A number in a text. `value` with its scale word; `plain` without: tables often leave it out. `bare`: digits
    and nothing else."""

    value: float
    plain: float
    percent: bool
    scaled: bool
    text: str
    bare: bool = False

    @property
    def year(self) -> bool:
        """Whether it reads like a year: four bare digits, which parentheses do not make negative."""
        return self.bare and abs(self.plain) in _YEARS


def quantities(text: str) -> list[Quantity]:
    """Every number in `text`: thousands separators, currency, percent, scale words, (accounting negatives)."""
    numbers = []
    for match in _NUMBER.finditer(text):
        plain = float(match["digits"].replace(",", ""))
        if match["sign"] or match["sign2"] or (match["open"] and match["close"]):
            plain = -plain
        scale = _SCALES[match["scale"].lower()] if match["scale"] else 1.0
        bare = match["digits"].isdigit() and not any(match[name] for name in ("unit", "percent", "scale"))
        numbers.append(
            Quantity(plain * scale, plain, bool(match["percent"]), scale != 1.0, match[0].strip(), bare)
        )
    return numbers


def stated(answer: str, wanted: Sequence[Quantity]) -> list[Quantity]:
    """The final numbers of an answer: as many different ones as are wanted, each as often as it is written.

    Those that follow the last "answer is", "answer:", "####" or "\\boxed", else the last ones of the text. Years do
    not count unless a year is wanted.
    """
    ends = [match.end() for match in _FINAL.finditer(answer)]
    marked = _counting(answer[ends[-1] :], wanted) if ends else []
    if marked:
        return _of(marked, list(dict.fromkeys(map(_key, marked)))[: len(wanted)])
    numbers = _counting(answer, wanted)
    return _of(numbers, list(dict.fromkeys(map(_key, reversed(numbers))))[: len(wanted)])


def same(want: Quantity, given: Quantity, tolerance: float) -> bool:
    """Whether both are the same number within `tolerance`, relative to `want`; absolute where that is 0.

    8.7% is 8.7 percent, 0.087, and 8.7 where the sign was left out; 2 billion is 2000 million, 2,000,000,000, and 2
    where the word was.
    """
    if want.percent == given.percent:
        pairs = [(want.plain, given.plain)] if want.percent else [(want.value, given.value)]
        if want.scaled != given.scaled:
            pairs.append((want.plain, given.plain))
    else:
        share = (want.plain / 100, given.value) if want.percent else (want.value, given.plain / 100)
        pairs = [share, (want.plain, given.plain)]
    return any(_close(a, b, tolerance) for a, b in pairs)


def _counting(text: str, wanted: Sequence[Quantity]) -> list[Quantity]:
    """Numbers of a text, without years unless a year is wanted."""
    years = any(want.year for want in wanted)
    return [number for number in quantities(text) if years or not number.year]


def _of(numbers: Sequence[Quantity], keys: Sequence[tuple[float, bool]]) -> list[Quantity]:
    return [quantity for quantity in numbers if _key(quantity) in keys]


def _key(quantity: Quantity) -> tuple[float, bool]:
    """Equal for two mentions of the same number."""
    return (quantity.value, quantity.percent)


def _close(want: float, given: float, tolerance: float) -> bool:
    if want == 0.0:
        return abs(given) <= tolerance
    return abs(want - given) <= max(tolerance, _EXACT) * abs(want)
