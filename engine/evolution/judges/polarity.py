"""What an answer says to a question that asks for yes or no, or for the direction of a change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from engine.evolution.judges.sentences import deciding, sentences
from engine.evolution.judges.words import content, denies, words

Polarity = Literal["yes", "no", ""]

_EXPLICIT = re.compile(
    r"(?:^|[.:;!,]\s|\banswer (?:is|would be)\W{0,3}|\bso,? )\W{0,4}(?P<said>yes|no)\b(?=\s*(?:[,.;:!]|$))",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[,;:]\s|\s(?:but|although|though|while|whereas|despite|because|since|even if|given that|as it|indicating)\s",
    re.IGNORECASE,
)
_ABOUT = 0.3
"""Share of the question's words from which on a clause speaks of what was asked."""
_OPPOSITES = ("un", "in", "im", "non")
_UP = frozenset(
    content(
        "increase rise rose risen grow grew grown growth improve improvement gain up upward high higher more positive "
        "expand expansion strong stronger strengthen healthy better favorable"
    )
)
_DOWN = frozenset(
    content(
        "decrease decline fall fell fallen drop dropped shrink shrank shrunk worsen worse deteriorate reduce reduction "
        "down downward low lower less negative loss contract contraction weak weaker weaken unhealthy poor unfavorable"
    )
)


def polarity_of_gold(gold: str) -> Polarity:
    """The yes or no with which a gold answer begins."""
    first = next(iter(words(gold)), "")
    return "yes" if first == "yes" else "no" if first == "no" else ""


def polarity_of(question: str, answer: str) -> Polarity:
    """What an answer says to the question: its own last yes or no; else whether the clause that repeats most of the
    question's claim denies it, by a negation or by the opposite. The sentences that decide count before all others.
    Empty: neither."""
    said = sentences(answer)
    return _said(question, deciding(said)) or _said(question, said)


def direction_of_answer(answer: str) -> int:
    """The direction in the last sentence that decides and has one, else in the first sentence that has one."""
    said = sentences(answer)
    ways = map(direction_of, [*reversed(deciding(said)), *said])
    return next((way for way in ways if way), 0)


def direction_of(text: str) -> int:
    """1 where the words of `text` point up, -1 where they point down, 0 where neither or both."""
    said = set(content(text))
    return bool(said & _UP) - bool(said & _DOWN)


def _said(question: str, said: Sequence[str]) -> Polarity:
    for sentence in reversed(said):
        if found := _EXPLICIT.findall(sentence):
            return "yes" if found[-1].lower() == "yes" else "no"
    claimed = _claim(question)
    asked = set(content(claimed))
    least = max(1.0, _ABOUT * len(asked))
    about = [sentence for sentence in reversed(said) if _shared(asked, sentence) >= least]
    if not about:
        return ""
    claim = max(about, key=lambda sentence: _shared(asked, sentence))
    clause = max(_CLAUSE.split(claim), key=lambda part: _shared(asked, part))
    opposite = direction_of(claimed) * direction_of(clause) < 0 or _has_opposite(asked, clause)
    return "no" if denies(words(clause)) != opposite else "yes"


def _claim(question: str) -> str:
    """The sentences of a question that ask; instructions around them are no part of what is claimed."""
    return " ".join(text for text in sentences(question) if text.endswith("?")) or question


def _shared(asked: set[str], text: str) -> int:
    return len(asked & set(content(text)))


def _has_opposite(asked: set[str], text: str) -> bool:
    """Whether a word of the question stands in `text` with a prefix that denies it: unhealthy for healthy."""
    said = set(content(text))
    return any(prefix + word in said for word in asked for prefix in _OPPOSITES if len(word) > 3)
