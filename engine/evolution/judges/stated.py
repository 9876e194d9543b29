"""The figures that an answer comes to, among all that it mentions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise

from engine.evolution.judges.quantities import Quantity, quantities
from engine.evolution.judges.sentences import first_claim

_BESIDE = re.compile(
    r"\b(?:than|versus|vs\.?|not|against|compared (?:to|with)|opposed to|instead of|up from|down from)"
    r"\s+(?:\w+ ){0,2}?[-\u2212$€£(]*$",
    re.IGNORECASE,
)
_FROM_TO = re.compile(r"\bfrom\s+[^;\n]{0,40}?\d[^;\n]{0,40}?\s+to\s+(?:[a-z]+ ){0,4}?[-\u2212$€£(~]*\d")
_OPERATOR = re.compile(
    r"[\s)\]]*(?:[/÷×*+]|\s[-\u2013\u2212]\s|\bover\b)[\s($€£\[]*"
    r"|[^\d\n=;.]{0,30}\b(?:divided by|multiplied by|minus|plus)\b[^\d\n=;.]{0,30}"
)
"""What stands between two figures from which a third is worked out."""
_NEAR = 40


def stated(answer: str, expected: Sequence[Quantity]) -> list[Quantity]:
    """The final figures of an answer: as many different ones as are wanted, each as often as it is written.

    The last ones of the text that are no mere comparison ("not 39", "than in 2020", "from 8 to now 9") nor what others
    are worked out from ("0.68 (5,121 / 7,491)"), and those of the first claim, if it has no more than are wanted. Years
    do not count unless a year is wanted.
    """
    most = len({number.key for number in expected})
    if most > 1 and not any(number.bare for number in expected):
        return _counting(answer, expected)
    every = _counting(answer, expected)
    numbers = _without(every, _beside(answer, every))
    keys = [
        *list(_keys(reversed(numbers)))[:most],
        *list(_keys(reversed(_without(numbers, _from_to(answer)))))[:most],
    ]
    claim = first_claim(answer)
    claimed = _counting(claim, expected)
    first = _without(claimed, _beside(claim, claimed) | _from_to(claim))
    if len(_keys(first)) <= most:
        keys += _keys(first)
    return _of(numbers, keys)


def _counting(text: str, expected: Sequence[Quantity]) -> list[Quantity]:
    """Figures of a text, without years unless a year is wanted."""
    years = any(want.year for want in expected)
    return [number for number in quantities(text) if years or not number.year]


def _keys(numbers: Iterable[Quantity]) -> dict[tuple[float, bool], None]:
    """The different numbers, in order."""
    return dict.fromkeys(number.key for number in numbers)


def _of(numbers: Sequence[Quantity], keys: Sequence[tuple[float, bool]]) -> list[Quantity]:
    return [number for number in numbers if number.key in keys]


def _without(numbers: list[Quantity], starts: set[int]) -> list[Quantity]:
    """The numbers that do not begin at `starts`; all, if none is left."""
    return [number for number in numbers if number.start not in starts] or numbers


def _beside(text: str, numbers: Sequence[Quantity]) -> set[int]:
    """Where those of the numbers begin that only say what others are compared with or worked out from."""
    pairs = (pair for pair in pairwise(numbers) if _OPERATOR.fullmatch(text, pair[0].end, pair[1].start))
    compared = (n for n in numbers if _BESIDE.search(text, max(0, n.start - _NEAR), n.start))
    return {number.start for number in chain(*pairs, compared)}


def _from_to(text: str) -> set[int]:
    """The places inside each "from A to B"."""
    return {place for match in _FROM_TO.finditer(text) for place in range(*match.span())}
