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
    """A judge's decision. `reasoning` says what was compared, or why the judge decided so."""

    correct: bool
    reasoning: str
    usage: Spent = Spent()


class JudgeFailed(SteerError):
    """The judge gave no verdict, which does not make the answer wrong. `usage`: cost of the attempt."""

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


def judge_with_retries(
    judge: Judge,
    question: str,
    golds: Sequence[str],
    answer: str,
    attempts: int,
    checkpoint: Callable[[], None],
) -> Verdict | Unjudged:
    """A verdict, or after `attempts` failures the reason; either carries the cost of all attempts."""
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
"""Words besides its numbers with which a gold answer still is a figure; a longer answer is a text that has some."""


class NumericJudge:
    """Offline. It reads figures and words, not meaning.

    A gold answer with a number is met by the same number within `tolerance` (relative; absolute where it is 0). An
    answer that lists several different numbers is judged by its final ones: those after "answer is" and the like,
    else the last numbers that are no years (as many as the gold answer has); other numbers do not
    count. A gold answer without a number, or a long gold answer, is a text: it is met from a token F1 of
    `text_threshold` on.
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
        missing = [
            want for want in figures if not any(same(want, number, self.tolerance) for number in given)
        ]
        if missing:
            shown = ", ".join(number.text for number in given) or "no number"
            return Verdict(False, f"{missing[0].text} is not what was answered: {shown}")
        return Verdict(
            True, f"answered {', '.join(want.text for want in figures)} within {self.tolerance:.2%}"
        )

    def _text(self, gold: str, answer: str) -> Verdict:
        score = agreement(gold, answer)
        right = score >= self.text_threshold
        sign = "at least" if right else "less than"
        return Verdict(right, f"`{gold}` agrees by {score:.2f}, {sign} {self.text_threshold:g}")
