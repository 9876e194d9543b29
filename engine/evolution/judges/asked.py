"""The scale in which a question asks for a figure."""

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


def as_asked(question: str, gold: Quantity) -> Quantity:
    """The gold figure in the scale that the question asks for."""
    scale = _SCALE.search(question)
    if scale is None or gold.scaled or gold.percent or gold.year:
        return gold
    return replace(gold, value=gold.plain * _SCALES[scale["scale"].lower()], scaled=True)
