"""What a question asks a figure to be given in: its scale and its decimals."""

from __future__ import annotations

import re
from dataclasses import replace

from engine.evolution.judges.quantities import Quantity

_SCALE = re.compile(
    r"\b(?:in|as)\s+(?:units of\s+)?(?:USD?|US\s?\$|U\.S\. dollars|dollars|EUR|euros?|[$€£])?\s*"
    r"(?P<scale>thousand|million|billion)s?\b",
    re.IGNORECASE,
)
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
_DECIMALS = re.compile(r"\b(?P<count>one|two|three|four|1|2|3|4)\s+decimal", re.IGNORECASE)
_COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4}


def as_asked(question: str, gold: Quantity) -> Quantity:
    """The gold figure in the scale and with the decimals that the question asks for; zeros at its end say nothing."""
    decimals = _decimals(question, gold)
    scale = _SCALE.search(question)
    if scale is None or gold.scaled or gold.percent or gold.year:
        return replace(gold, decimals=decimals)
    times = _SCALES[scale["scale"].lower()]
    return replace(gold, value=gold.plain * times, scaled=True, decimals=decimals)


def _decimals(question: str, gold: Quantity) -> int:
    digits = repr(gold.plain).partition(".")[2]
    shown = 0 if digits == "0" or "e" in digits else len(digits)
    asked = _DECIMALS.search(question)
    if asked is None:
        return shown
    count = asked["count"].lower()
    return max(shown, _COUNTS.get(count) or int(count))
