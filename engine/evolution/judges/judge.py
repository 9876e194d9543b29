"""Whether an answer is right: the judges' protocol, and how often a judge is asked (spec Evolution 1, step 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from engine.errors import SteerError
from engine.servers.spent import Spent


@dataclass(frozen=True)
class Verdict:
    """A judge's decision; `correct` None: it cannot tell or, with `failed`, it gave none at any attempt. `reasoning`
    says what was compared, or why."""

    correct: bool | None
    reasoning: str
    usage: Spent = Spent()
    failed: bool = False

    @property
    def cannot_tell(self) -> bool:
        """Whether the judge says that it cannot tell."""
        return self.correct is None and not self.failed


class JudgeFailed(SteerError):
    """The judge gave no verdict, which does not make the answer wrong. `usage`: cost of the attempt; `final`: another
    attempt is of no use."""

    def __init__(
        self, *, what: str, where: str = "", hint: str = "", usage: Spent = Spent(), final: bool = False
    ) -> None:
        super().__init__(what=what, where=where, hint=hint)
        self.usage = usage
        self.final = final


class Judge(Protocol):
    """Judges one answer."""

    name: str

    def judge(self, question: str, golds: Sequence[str], answer: str) -> Verdict:
        """Compare with all gold answers; right if it agrees with any. Raises JudgeFailed."""
        ...

    def cannot_tell(self, question: str, golds: Sequence[str]) -> str:
        """Why this judge cannot judge answers to a question, whatever they say; empty where it can."""
        ...


def judge_with_retries(
    judge: Judge,
    question: str,
    golds: Sequence[str],
    answer: str,
    attempts: int,
    checkpoint: Callable[[], None],
) -> Verdict:
    """A verdict, `failed` after `attempts` failures, with the cost of all attempts. An answer without a
    word is wrong, and the judge is not asked."""
    if not answer.strip() and not judge.cannot_tell(question, golds):
        return Verdict(False, "there is no answer")
    reason, usage = "", Spent()
    for _ in range(attempts):
        checkpoint()
        try:
            verdict = judge.judge(question, golds, answer)
        except JudgeFailed as error:
            reason, usage = str(error), usage + error.usage
            if error.final:
                break
        else:
            return replace(verdict, usage=usage + verdict.usage)
    return Verdict(None, reason, usage, failed=True)
