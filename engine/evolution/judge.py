"""Whether an answer is right: the judges' protocol, and one that compares numbers and words offline
(spec Evolution 1, step 5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from engine.errors import SteerError
from engine.evolution.history import Usage


@dataclass(frozen=True)
class Verdict:
    """`reasoning` says what was compared, or why the judge found as it did."""

    correct: bool
    reasoning: str
    usage: Usage = field(default_factory=Usage)


class JudgeFailed(SteerError):
    """No verdict could be had. This is no wrong answer. `usage`: it cost, too."""

    def __init__(self, *, what: str, where: str = "", mend: str = "", usage: Usage | None = None) -> None:
        super().__init__(what=what, where=where, mend=mend)
        self.usage = usage or Usage()


@dataclass(frozen=True)
class Unjudged:
    """Why there is no verdict after all attempts, and what they cost."""

    reason: str
    usage: Usage


class Judge(Protocol):
    """Judges one answer."""

    name: str

    def judge(self, question: str, golds: Sequence[str], answer: str) -> Verdict:
        """Compare with all gold answers; right if it agrees with any. Raises JudgeFailed."""
        ...


def judge_retrying(
    judge: Judge,
    question: str,
    golds: Sequence[str],
    answer: str,
    attempts: int,
    checkpoint: Callable[[], None],
) -> Verdict | Unjudged:
    """A verdict, or after `attempts` failures why there is none; what failed before is charged to either."""
    reason, usage = "", Usage()
    for _ in range(attempts):
        checkpoint()
        try:
            verdict = judge.judge(question, golds, answer)
        except JudgeFailed as error:
            reason, usage = str(error), usage + error.usage
        else:
            return replace(verdict, usage=usage + verdict.usage)
    return Unjudged(reason, usage)


_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "k": 1e3, "m": 1e6, "mm": 1e6,
           "bn": 1e9, "b": 1e9}  # fmt: skip
_NUMBER = re.compile(
    r"(?P<open>\()?(?<!\w)(?P<sign>[-\u2212])?\s?(?P<unit>[$€£])?\s?(?P<sign2>[-\u2212])?"
    r"(?<![\w.])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"\s?(?P<percent>%|percent\b)?(?P<close>\))?"
    r"(?:\s?(?P<scale>thousand|million|billion|trillion|bn|mm|[kmb])\b)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Quantity:
    """A number in a text. `value` with its scale word; `plain` without: tables often leave it out."""

    value: float
    plain: float
    percent: bool
    scaled: bool
    text: str


def quantities(text: str) -> list[Quantity]:
    """Every number in `text`: thousands separators, currency, percent, scale words, (accounting negatives)."""
    found = []
    for match in _NUMBER.finditer(text):
        plain = float(match["digits"].replace(",", ""))
        if match["sign"] or match["sign2"] or (match["open"] and match["close"]):
            plain = -plain
        scale = _SCALES[match["scale"].lower()] if match["scale"] else 1.0
        found.append(Quantity(plain * scale, plain, bool(match["percent"]), scale != 1.0, match[0].strip()))
    return found


class NumericJudge:
    """Offline. A gold answer with a number is met by the same number within `tolerance` (relative), any other one
    by its words. It reads figures and words, not meaning."""

    name = "numeric (offline)"

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance

    def judge(self, question: str, golds: Sequence[str], answer: str) -> Verdict:
        """Right if the answer meets any gold answer."""
        verdicts = [self._against(gold, answer) for gold in golds]
        return next((verdict for verdict in verdicts if verdict.correct), verdicts[0])

    def _against(self, gold: str, answer: str) -> Verdict:
        wanted = quantities(gold)
        if not wanted:
            return _words(gold, answer)
        given = quantities(answer)
        missing = [want for want in wanted if not any(self._same(want, found) for found in given)]
        if missing:
            shown = ", ".join(dict.fromkeys(found.text for found in given)) or "no number"
            return Verdict(False, f"{missing[0].text} is not among what was answered: {shown}")
        return Verdict(
            True, f"answered {', '.join(want.text for want in wanted)} within {self.tolerance:.2%}"
        )

    def _same(self, want: Quantity, found: Quantity) -> bool:
        if want.percent and found.percent != want.percent and want.plain != found.plain:
            return False
        both = want.scaled == found.scaled
        a, b = (want.value, found.value) if both else (want.plain, found.plain)
        return abs(a - b) <= self.tolerance * max(abs(a), 1e-12)


def _words(gold: str, answer: str) -> Verdict:
    """The gold answer's words, in order and next to each other."""
    want, said = _tokens(gold), _tokens(answer)
    inside = bool(want) and any(said[i : i + len(want)] == want for i in range(len(said) - len(want) + 1))
    told = "is in the answer" if inside else "is not in the answer"
    return Verdict(inside, f"`{gold}` {told}")


def _tokens(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
