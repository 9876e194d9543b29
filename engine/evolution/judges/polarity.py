"""What an answer says to a question that asks for yes or no, or for the direction of a change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from engine.evolution.judges.sentences import conclusion, deciding, first_claim, sentences
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
_NO_NEGATION = re.compile(
    r"\bnot (?:only|just|merely)\b|\bno (?:doubt|less)\b|\bwhether or not\b", re.IGNORECASE
)
_NAME = re.compile(r"(?<=\s)[A-Z][\w&.'\u2019-]*|\b\w*\d\w*\b")
"""Names and periods, which say what a question is about, but not what it asks of it."""
_UP = frozenset(
    content(
        "increase rise rose risen grow grew grown growth improve improvement gain up upward high higher more positive "
        "expand expansion strong stronger strengthen healthy better favorable accelerate widen"
    )
)
_DOWN = frozenset(
    content(
        "decrease decline fall fell fallen drop dropped shrink shrank shrunk worsen worse deteriorate reduce reduction "
        "down downward low lower less negative loss contract contraction weak weaker weaken unhealthy poor unfavorable "
        "decelerate slow narrow"
    )
)


def polarity_of_gold(gold: str) -> Polarity:
    """The yes or no with which a gold answer begins."""
    first = next(iter(words(gold)), "")
    return "yes" if first == "yes" else "no" if first == "no" else ""


def polarity_of(question: str, answer: str) -> Polarity:
    """What an answer says to the question: the last yes or no of the sentences that decide; else whether the clause
    that repeats most of the question's claim denies it, by a negation or by the opposite. What concludes counts before
    the first claim, that before the last sentence and all others. Empty: neither."""
    parts, asked = sentences(answer), _asked(question)
    polarity = _explicit(deciding(parts))
    for part in (conclusion(parts), [first_claim(answer)], parts[-1:], parts):
        polarity = polarity or _implied(asked, part)
    return polarity


def direction_of_answer(answer: str) -> int:
    """The direction in the last sentence that decides and has one, else in the first sentence that has one."""
    parts = sentences(answer)
    ways = map(direction_of, [*reversed(deciding(parts)), *parts])
    return next((way for way in ways if way), 0)


def direction_of(text: str) -> int:
    """1 where the words of `text` point up, -1 where they point down, 0 where neither or both."""
    return _direction(set(content(text)))


def _direction(stems: set[str]) -> int:
    return bool(stems & _UP) - bool(stems & _DOWN)


def _explicit(parts: Sequence[str]) -> Polarity:
    explicit = [match["said"].lower() for sentence in parts for match in _EXPLICIT.finditer(sentence)]
    return "" if not explicit else "yes" if explicit[-1] == "yes" else "no"


def _asked(question: str) -> set[str]:
    """The words of what a question claims, without names and periods; instructions around it are no part of it."""
    claim = " ".join(text for text in sentences(question) if text.endswith("?")) or question
    return set(content(_NAME.sub("", claim))) or set(content(claim))


def _implied(asked: set[str], parts: Sequence[str]) -> Polarity:
    """Of sentences, whether the one that repeats most of what is asked grants it; the last of equals."""

    def shared(text: str) -> int:
        return len(asked.intersection(content(text))) + _is_turned(asked, text)

    about = [text for text in reversed(parts) if shared(text) >= max(1.0, _ABOUT * len(asked))]
    if not about:
        return ""
    clause = max(_CLAUSE.split(max(about, key=shared)), key=shared)
    denied = denies(words(_NO_NEGATION.sub("", clause)))
    return "no" if denied != _is_turned(asked, clause) else "yes"


def _is_turned(asked: set[str], text: str) -> bool:
    """Whether `text` has the opposite of a word of the claim: unhealthy for healthy, fell for rose. What both say, such
    as growth, has no direction."""
    stems = set(content(text))
    if _direction(asked - stems) * _direction(stems - asked) < 0:
        return True
    return any(prefix + word in stems for word in asked for prefix in _OPPOSITES if len(word) > 3)
