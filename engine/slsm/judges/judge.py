"""The protocol of judges, which decide whether an answer passes, and an offline judge of exact questions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from engine.errors import wrong_value
from engine.servers.spent import AskFailed, Spent
from engine.slsm.checks.checks import parse_check
from engine.slsm.checks.measures import begins_with, contains, ends_with, gives_list, words_of
from engine.slsm.multichallenge import Criterion


@dataclass(frozen=True)
class AnswerVerdict:
    """Whether an answer passes, and why."""

    passed: bool
    reason: str
    spent: Spent = Spent()


class AnswerJudgeFailed(AskFailed):
    """The judge gave no verdict, which is not a failed answer."""


class AnswerJudge(Protocol):
    """Judges an answer by its criterion, which nothing else in a run sees."""

    name: str

    def judge(self, criterion: Criterion, answer: str) -> AnswerVerdict:
        """The verdict on an answer. Raises AnswerJudgeFailed, ServerFailed."""
        ...


class ExactAnswerJudge:
    """An offline judge of a few forms of questions with an exact answer; it refuses all others."""

    name = "exact (offline)"

    def judge(self, criterion: Criterion, answer: str) -> AnswerVerdict:
        holds = self._holds(criterion.target_question, answer)
        if holds is None:
            raise AnswerJudgeFailed(
                what=f"the exact judge cannot decide {criterion.target_question!r}",
                where="slsm.judge.kind",
                hint="use `openai` for questions of meaning",
            )
        reply = "YES" if holds else "NO"
        if not words_of(answer):
            return AnswerVerdict(False, "there is no answer")
        return AnswerVerdict(reply == criterion.pass_criteria, f"{reply} to: {criterion.target_question}")

    def can_judge(self, criterion: Criterion) -> bool:
        """Whether the criterion has one of the forms that it knows."""
        return self._holds(criterion.target_question, "") is not None

    def _holds(self, question: str, answer: str) -> bool | None:
        for pattern, holds in _QUESTIONS:
            if match := pattern.fullmatch(question):
                return holds(answer, *match.groups())
        return None


def kept_question(instruction: str) -> str:
    """The target question for a standing instruction, which the exact judge decides if it has an exact check."""
    return f"Does the answer keep this instruction: {instruction}"


def check_exact(criteria: Mapping[str, Criterion]) -> int:
    """How many of the criteria the exact judge cannot judge. Raises ConfigError where it can judge none."""
    judge = ExactAnswerJudge()
    undecided = sum(not judge.can_judge(criterion) for criterion in criteria.values())
    if criteria and undecided == len(criteria):
        raise wrong_value(
            "slsm.judge.kind",
            f"exact, which can judge none of {undecided} target questions",
            "`openai` for questions of meaning, or `none` for a run without scores",
        )
    return undecided


def _keeps(answer: str, instruction: str) -> bool | None:
    check = parse_check(instruction)
    return None if check is None else check.holds(answer)


def _in_capitals(answer: str) -> bool:
    return answer == answer.upper() and answer != answer.lower()


_QUESTIONS: tuple[tuple[re.Pattern[str], Callable[..., bool | None]], ...] = (
    (re.compile(kept_question("(.+)"), re.S), _keeps),
    (re.compile(r'Does the answer end with the word "(.+)"\?'), ends_with),
    (re.compile(r'Does the answer begin with the word "(.+)"\?'), begins_with),
    (re.compile(r'Does the answer contain the word "(.+)"\?'), contains),
    (re.compile(r'Does the answer give exactly the list "(.+)"\?'), gives_list),
    (re.compile(r"Is the answer written in capital letters only\?"), _in_capitals),
)
