"""Whether two texts say the same, by their words (token F1 as for SQuAD, Rajpurkar et al. 2016)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_ARTICLES = {"a", "an", "the"}
_NEGATIONS = {"no", "not", "never", "none", "neither", "nor", "without", "cannot"}
_POLAR = {"yes", "no"}
_CLAUSE = re.compile(r"[.;:!?](?:\s|$)|\n")


def words(text: str) -> list[str]:
    """Lower case, without punctuation and articles; "n't" is "not"."""
    plain = re.sub(r"n['\u2019]t\b", " not", text.lower())
    return [word for word in re.findall(r"\w+", plain) if word not in _ARTICLES]


def token_f1(want: Sequence[str], said: Sequence[str]) -> float:
    """Harmonic mean of precision and recall of the words, 0 to 1."""
    common = sum((Counter(want) & Counter(said)).values())
    return 2 * common / (len(want) + len(said)) if common else 0.0


def agreement(gold: str, answer: str) -> float:
    """How far the answer says what the gold answer says, 0 to 1.

    1 where the gold words stand in it next to each other, else the best token F1 of the answer and its clauses: what
    stands around the clause that answers is a matter of length. A clause that denies what the gold answer does not,
    or the other way round, says something else. A plain yes or no is compared with the first yes or no of the answer.
    """
    want = words(gold)
    if len(want) == 1 and want[0] in _POLAR:
        return float(next((word for word in words(answer) if word in _POLAR), "") == want[0])
    clauses = [words(clause) for clause in _CLAUSE.split(answer)]
    agreeing = [said for said in (words(answer), *clauses) if _denies(said) == _denies(want)]
    return max((1.0 if _inside(want, said) else token_f1(want, said) for said in agreeing), default=0.0)


def _inside(want: list[str], said: list[str]) -> bool:
    return bool(want) and any(said[i : i + len(want)] == want for i in range(len(said) - len(want) + 1))


def _denies(said: list[str]) -> bool:
    return bool(_NEGATIONS & set(said))
