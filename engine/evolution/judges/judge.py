"""Whether an answer is right: the judges' protocol, and one that compares numbers and words offline
(spec Evolution 1, step 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from engine.errors import SteerError
from engine.evolution.judges.quantities import quantities, same, stated
from engine.evolution.judges.words import agreement, words
from engine.servers.spent import Spent


@dataclass(frozen=True)
class Verdict:
    """`reasoning` says what was compared, or why the judge found as it did."""

    correct: bool
    reasoning: str
    usage: Spent = Spent()


class JudgeFailed(SteerError):
    """No verdict could be had. This is no wrong answer. `usage`: it cost, too."""

    def __init__(self, *, what: str, where: str = "", mend: str = "", usage: Spent = Spent()) -> None:
        super().__init__(what=what, where=where, mend=mend)
        self.usage = usage


@dataclass(frozen=True)
class Unjudged:
    """Why there is no verdict after all attempts, and what they cost."""

    reason: str
    usage: Spent


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
    reason, usage = "", Spent()
    for _ in range(attempts):
        checkpoint()
        try:
            verdict = judge.judge(question, golds, answer)
        except JudgeFailed as error:
            reason, usage = str(error), usage + error.usage
        else:
            return replace(verdict, usage=usage + verdict.usage)
    return Unjudged(reason, usage)


_LONGEST_NUMERIC = 12
"""Words besides its numbers with which a gold answer still is a figure; a longer one is a text that has some."""


class NumericJudge:
    """Offline. It reads figures and words, not meaning.

    A gold answer with a number is met by the same number within `tolerance` (relative; absolute where it is 0). An
    answer that lists several different numbers is judged by what it comes to: the number after "answer is" and the
    like, else the last one that is no year (as many as the gold answer has); that another one happens to match does
    not help. A gold answer without a number, or a long one, is a text: it is met from a token F1 of `text_threshold`
    on.
    """

    name = "numeric (offline)"

    def __init__(self, tolerance: float, text_threshold: float = 0.7) -> None:
        self.tolerance = tolerance
        self.text_threshold = text_threshold

    def judge(self, question: str, golds: Sequence[str], answer: str) -> Verdict:
        """Right if the answer meets any gold answer."""
        verdicts = [self._against(gold, answer) for gold in golds]
        return next((verdict for verdict in verdicts if verdict.correct), verdicts[0])

    def _against(self, gold: str, answer: str) -> Verdict:
        wanted = quantities(gold)
        figures = [want for want in wanted if not want.year] or wanted
        if not figures or len(words(gold)) - len(figures) > _LONGEST_NUMERIC:
            return self._text(gold, answer)
        given = stated(answer, figures)
        missing = [want for want in figures if not any(same(want, found, self.tolerance) for found in given)]
        if missing:
            shown = ", ".join(found.text for found in given) or "no number"
            return Verdict(False, f"{missing[0].text} is not what was answered: {shown}")
        return Verdict(
            True, f"answered {', '.join(want.text for want in figures)} within {self.tolerance:.2%}"
        )

    def _text(self, gold: str, answer: str) -> Verdict:
        found = agreement(gold, answer)
        right = found >= self.text_threshold
        sign = "at least" if right else "less than"
        return Verdict(right, f"`{gold}` agrees by {found:.2f}, {sign} {self.text_threshold:g}")
