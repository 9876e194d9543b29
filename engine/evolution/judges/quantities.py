"""Numbers in texts: read with their separators, currency, percent, scale words and signs, and compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "k": 1e3, "m": 1e6, "mm": 1e6,
           "mn": 1e6, "bn": 1e9, "b": 1e9}  # fmt: skip
_NUMBER = re.compile(
    r"(?P<open>\()?(?<!\w)(?P<sign>[-\u2212])?\s?(?P<unit>[$€£])?\s?(?P<sign2>[-\u2212])?"
    r"(?<![\w.])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"(?P<percent>\s?(?:%|percent\b|per\scent\b|pp\b)|[\s-]percentage[\s-]points?\b)?(?P<close>\))?"
    r"(?:\s?(?P<scale>thousand|million|billion|trillion|bn|mm|mn|[kmb])\b)?",
    re.IGNORECASE,
)
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)"
)
_NO_FIGURES = re.compile(
    rf"\b{_MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?!\s?[%\d.])|\b\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}\b"
    r"|\b\d+(?=-[A-Za-z])|\b[Nn]otes?\s+\d+\b|^[ \t]*\d{1,2}[.)](?=\s)",
    re.MULTILINE,
)
"""Days of a month, 10-K and 5-year, Note 12, numbers of a list."""
_FALLS = re.compile(
    r"\b(?:declin|decreas|fell|fall|drop|down|negative|loss|lost|lower|reduc|shr[aiu]nk)[a-z]*\s+(?:\w+\s+){0,2}$",
    re.IGNORECASE,
)
_NEAR = 40
"""Characters before a number in which a word may say that it falls."""
_YEARS = range(1900, 2101)
_EXACT = 1e-13
"""Relative difference that decimals leave behind."""


@dataclass(frozen=True)
class Quantity:
    """A number in a text. `value` with its scale word; `plain` without: tables often leave it out. `bare`: digits
    and nothing else. `falls`: the words before it say that something fell or was lost, so that its sign may be
    theirs. `decimals`: digits after the point. `start`, `end`: its place in the text."""

    value: float
    plain: float
    percent: bool
    scaled: bool
    text: str
    bare: bool = False
    falls: bool = False
    decimals: int = 0
    start: int = 0
    end: int = 0

    @property
    def year(self) -> bool:
        """Whether it reads like a year: four bare digits, which parentheses do not make negative."""
        return self.bare and abs(self.plain) in _YEARS

    @property
    def key(self) -> tuple[float, bool]:
        """Equal for two mentions of the same number."""
        return (self.value, self.percent)


def quantities(text: str) -> list[Quantity]:
    """Every figure in `text`: thousands separators, currency, percent, scale words, (accounting negatives). Days of a
    month and the numbers of forms, notes and lists are none."""
    skipped = {place for match in _NO_FIGURES.finditer(text) for place in range(*match.span())}
    numbers = []
    for match in _NUMBER.finditer(text):
        start = match.start("digits")
        if start in skipped:
            continue
        plain = float(match["digits"].replace(",", ""))
        if match["sign"] or match["sign2"] or (match["open"] and match["close"]):
            plain = -plain
        scale = _SCALES[match["scale"].lower()] if match["scale"] else 1.0
        numbers.append(
            Quantity(
                value=plain * scale,
                plain=plain,
                percent=bool(match["percent"]),
                scaled=scale != 1.0,
                text=match[0].strip(),
                bare=match["digits"].isdigit()
                and not any(match[name] for name in ("unit", "percent", "scale")),
                falls=_FALLS.search(text[max(0, match.start() - _NEAR) : match.start()]) is not None,
                decimals=len(match["digits"].partition(".")[2]),
                start=start,
                end=match.end(),
            )
        )
    return numbers


def same(want: Quantity, given: Quantity, tolerance: float) -> bool:
    """Whether both are the same number within `tolerance`, relative to `want` (absolute where that is 0), or `given`
    rounds to the decimals of `want`.

    8.7% is 8.7 percent, 8.7 percentage points, 0.087, and 8.7 where the sign was left out; 2 billion is 2000 million,
    2,000,000,000, and 2 or 2,000,000 where "billion" or "thousand" was; a decline of 3 is -3.
    """
    signs = (1.0, -1.0) if want.falls != given.falls else (1.0,)
    return any(
        _close(unit * want.plain, sign * value, tolerance, unit * _half_digit(want))
        for unit, value in _readings(want, given)
        for sign in signs
    )


def _readings(want: Quantity, given: Quantity) -> Iterator[tuple[float, float]]:
    """(what 1 of `want.plain` is worth, the given number in that measure), for each way to read the pair."""
    scale = want.value / want.plain if want.plain else 1.0
    if want.percent == given.percent:
        if want.percent:
            yield 1.0, given.plain
            return
        yield scale, given.value
        if want.scaled != given.scaled:
            yield 1.0, given.plain
        if want.scaled and not given.scaled:
            yield scale, given.plain * 1e3
        return
    yield (0.01, given.value) if want.percent else (scale, given.plain / 100)
    yield 1.0, given.plain


def _half_digit(want: Quantity) -> float:
    """Half of the last digit; nothing for a whole number, which others seldom round to."""
    return 0.5 * 10.0**-want.decimals if want.decimals else 0.0


def _close(want: float, given: float, tolerance: float, rounding: float) -> bool:
    if want == 0.0:
        return abs(given) <= max(tolerance, rounding)
    return abs(want - given) <= max(tolerance * abs(want), rounding * (1 + 1e-9), _EXACT * abs(want))
