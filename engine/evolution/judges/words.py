"""Whether two texts say the same, by their words (token F1 as for SQuAD, Rajpurkar et al. 2016)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_ARTICLES = {"a", "an", "the"}
_NEGATIONS = {
    "no", "not", "never", "none", "neither", "nor", "without", "cannot", "unlikely", "unable", "hardly", "fails",
    "failed", "lacks", "lacked",
}  # fmt: skip
_POLAR = {"yes", "no"}
_CLAUSE = re.compile(r"[.;:!?](?:\s|$)|\n")


def words(text: str) -> list[str]:
    """Lower case, without punctuation and articles; "n't" is "not"."""
    plain = re.sub(r"n['\u2019]t\b", " not", text.lower())
    return [word for word in re.findall(r"\w+", plain) if word not in _ARTICLES]


_EMPTY = frozenset(
    """
    a an the of in on at to for from by with as and or is are was were be been being has have had do does did its it
    this that these those their they which what who how why when where there than then such per into within between
    among due any all only also about approximately around roughly primarily mainly i you we he she his her if not no
    yes so
    """.split()  # noqa: SIM905
)
_ENDINGS = (
    "ational", "ations", "ation", "ating", "ated", "ates", "ate", "ity", "ings", "ing", "ied", "ies", "ed", "es", "s",
    "e", "y",
)  # fmt: skip
_LEAST_STEM = 3


def content(text: str) -> list[str]:
    """The words of `text` that carry meaning, each cut to its stem."""
    return [_stem(word) for word in words(re.sub(r"['\u2019]s\b", "", text)) if word not in _EMPTY]


def denies(given: Sequence[str]) -> bool:
    """Whether there is a negation among the words."""
    return bool(_NEGATIONS & set(given))


def _stem(word: str) -> str:
    """Without the commonest endings of English: operations, operating and operates are one word."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM and not word.endswith("ss"):
            return word[: len(word) - len(ending)]
    return word


def token_f1(want: Sequence[str], given: Sequence[str]) -> float:
    """Harmonic mean of precision and recall of the words, 0 to 1."""
    common = sum((Counter(want) & Counter(given)).values())
    return 2 * common / (len(want) + len(given)) if common else 0.0


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
    agreeing = [given for given in (words(answer), *clauses) if denies(given) == denies(want)]
    return max((1.0 if _inside(want, given) else token_f1(want, given) for given in agreeing), default=0.0)


def _inside(want: list[str], given: list[str]) -> bool:
    return bool(want) and any(given[i : i + len(want)] == want for i in range(len(given) - len(want) + 1))
