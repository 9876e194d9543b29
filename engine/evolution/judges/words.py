"""The words of a text, and its words that carry meaning."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ARTICLES = {"a", "an", "the"}
_NEGATIONS = {
    "no", "not", "never", "none", "neither", "nor", "without", "cannot", "unlikely", "unable", "hardly", "fails",
    "failed", "lacks", "lacked",
}  # fmt: skip


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
