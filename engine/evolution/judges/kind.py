"""What kind of answer a gold answer is, which decides how the offline judge compares: figures, yes or no, the direction
of a change, or a text, which it cannot judge.

The kind depends on the question and the gold answer alone, never on what was answered: no answer can escape its
judgement by its form, and all deltas are judged on the same questions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from engine.evolution.judges.asked import as_asked
from engine.evolution.judges.polarity import direction_of, polarity_of_gold
from engine.evolution.judges.quantities import Quantity, quantities
from engine.evolution.judges.words import content

Kind = Literal["figures", "yes or no", "direction", "text"]

_MOST_BESIDE_FIGURES = 3
"""New words with which a gold answer still is a figure; what says more is a text that has some."""
_MOST_BESIDE_YES = 4
"""New words with which a gold answer still is a yes or no; of what says more, people weigh the reasons."""
_NO_FIGURE = re.compile(
    r"(?:^|[,:;.?]\s)\W*(?:(?:in|for|of|to|by|at) )?(?:which|who|whom|whose|where)\b"
    r"|\bwhy\b|\bwhat (?:drove|drives|caused|causes|led|explains?|happened)\b"
    r"|\b(?:nature|purpose|reasons?|causes?|drivers?|factors?|agenda|outcome|outlook|strateg(?:y|ies)|changes)\b",
    re.IGNORECASE,
)
"""A question for a name or an explanation: a figure is not what it asks for, if its gold answer says more."""
_WHICH = re.compile(r"\bany\b|\bif (?:so|yes)\b|\band (?:why|how|what|which|who|where)\b", re.IGNORECASE)
"""A question for any of a kind, or for more than yes: yes alone does not answer it where the gold answer says more."""
_THIRD_WAY = re.compile(
    r"\bif\b[^.?]{0,120}\b(?:not|isn['\u2019]t|aren['\u2019]t)\b[^.?]{0,120}"
    r"\b(?:relevant|meaningful|useful|applicable|appropriate|state (?:that|so)|say (?:that|so))\b",
    re.IGNORECASE,
)
"""A question that asks to say so where it does not apply admits more than yes and no."""


@dataclass(frozen=True)
class Gold:
    """A gold answer, read against its question. `figures`: its numbers that the question does not say, years only
    where there is nothing else."""

    text: str
    kind: Kind
    figures: tuple[Quantity, ...] = ()


def read_gold(question: str, gold: str) -> Gold:
    """The kind of `gold`, and what an answer is compared with."""
    asked = set(content(question))
    new = {word for word in content(gold) if word not in asked and not word.isdigit()}
    if polarity := polarity_of_gold(gold):
        most = 0 if polarity == "yes" and _WHICH.search(question) else _MOST_BESIDE_YES
        return Gold(gold, "text" if len(new) > most or _THIRD_WAY.search(question) else "yes or no")
    if figures := _figures(question, gold):
        most = 0 if _NO_FIGURE.search(question) else _MOST_BESIDE_FIGURES
        return Gold(gold, "text" if len(new) > most else "figures", figures)
    return Gold(gold, "direction" if direction_of(gold) and len(content(gold)) == 1 else "text")


def _figures(question: str, gold: str) -> tuple[Quantity, ...]:
    asked = {number.value for number in quantities(question)}
    figures = [number for number in quantities(gold) if number.value not in asked]
    return tuple(as_asked(question, number) for number in [n for n in figures if not n.year] or figures)
