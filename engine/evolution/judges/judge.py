"""Whether an answer is right: the judges' protocol, and how often a judge is asked (spec Evolution 1, step 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from engine.servers.spent import AskFailed, Spent


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


class JudgeFailed(AskFailed):
    """The judge gave no verdict, which does not make the answer wrong."""


class Judge(Protocol):
    """Judges one answer."""

    name: str

    def judge(self, question: str, golds: Sequence[str], answer: str) -> Verdict:
        """Compare with all gold answers; right if it agrees with any. Raises JudgeFailed, or its
        server's AskFailed."""
        ...

    def cannot_tell(self, question: str, golds: Sequence[str]) -> str:
        """Why this judge cannot judge answers to a question, whatever they say; empty where it can."""
        ...


def judge_with_retries(
    judge: Judge, question: str, golds: Sequence[str], answer: str, attempts: int
) -> Verdict:
    """A verdict, `failed` after `attempts` failures, with the cost of all attempts. An answer without a
    word is wrong, and the judge is not asked."""
    if not answer.strip() and not judge.cannot_tell(question, golds):
        return Verdict(False, "there is no answer")
    reason, usage = "", Spent()
    for _ in range(attempts):
        try:
            verdict = judge.judge(question, golds, answer)
        except AskFailed as error:
            reason, usage = str(error), usage + error.spent
            if error.final:
                break
        else:
            return replace(verdict, usage=usage + verdict.usage)
    return Verdict(None, reason, usage, failed=True)
