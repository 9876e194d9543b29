"""Whether an answer passes: the judges' protocol, and an exact one that reads answers offline."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from engine.errors import SteerError
from engine.servers.spent import Spent
from engine.slsm.checks.measures import words_of
from engine.slsm.multichallenge import Criterion


@dataclass(frozen=True)
class Verdict:
    """`passed`: the judge's answer to the target question is the one that passes."""

    passed: bool
    reason: str
    spent: Spent = Spent()


class JudgeFailed(SteerError):
    """No verdict could be had; that is no failed answer."""

    spent = Spent()


class JudgeUnreachable(JudgeFailed):
    """Its server failed."""


class Judge(Protocol):
    """Reads one answer; the only one who is given the criterion."""

    name: str

    def judge(self, criterion: Criterion, answer: str) -> Verdict:
        """Raises JudgeFailed."""
        ...


class ExactJudge:
    """Offline. It knows a few forms of questions, which have an exact answer, and refuses all others."""

    name = "exact (offline)"

    def judge(self, criterion: Criterion, answer: str) -> Verdict:
        found = self._answered(criterion.target_question, answer)
        if found is None:
            raise JudgeFailed(
                what=f"the exact judge cannot decide {criterion.target_question!r}",
                where="slsm.judge.kind",
                mend="use `openai` for questions of meaning",
            )
        said = "YES" if found else "NO"
        if not words_of(answer):
            return Verdict(False, "there is no answer")
        return Verdict(said == criterion.pass_criteria, f"{said} to: {criterion.target_question}")

    def _answered(self, question: str, answer: str) -> bool | None:
        said = words_of(answer)
        for pattern, holds in _QUESTIONS:
            if match := pattern.fullmatch(question):
                return holds(said, answer, match[1] if match.groups() else "")
        return None


def _gives_list(said: list[str], answer: str, items: str) -> bool:
    """The list and nothing else of a list: no further item before or behind it."""
    return bool(re.search(rf"(?<!, )\b{re.escape(items)}\b(?!,| and )", answer, re.I))


def _contains(said: list[str], answer: str, word: str) -> bool:
    return f" {' '.join(words_of(word))} " in f" {' '.join(said)} "


_QUESTIONS = (
    (re.compile(r'Does the answer end with the word "(.+)"\?'), lambda said, answer, word: (
        said[-len(words_of(word)) :] == words_of(word))),
    (re.compile(r'Does the answer begin with the word "(.+)"\?'), lambda said, answer, word: (
        said[: len(words_of(word))] == words_of(word))),
    (re.compile(r'Does the answer contain the word "(.+)"\?'), _contains),
    (re.compile(r'Does the answer give exactly the list "(.+)"\?'), _gives_list),
    (re.compile(r"Is the answer written in capital letters only\?"), lambda said, answer, _: (
        answer == answer.upper() and answer != answer.lower())),
)  # fmt: skip
