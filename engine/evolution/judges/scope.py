"""Which of a run's questions its judge can judge: told before anything is asked, never found out at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import wrong_value
from engine.evolution.judges.judge import Judge
from engine.evolution.minibatch import QuestionSplits
from engine.tasks.example import TaskExample


@dataclass(frozen=True)
class JudgeScope:
    """Of `questions`, the judge cannot tell on `unjudgeable`; `reason`: why, of the first one."""

    questions: int
    unjudgeable: int
    reason: str = ""

    def warning(self, judge: str) -> str:
        """A sentence about the questions outside; empty if there are none."""
        if not self.unjudgeable:
            return ""
        return (
            f"{self.unjudgeable} of {self.questions} questions are outside what the judge {judge} can judge "
            f"({self.reason}): their answers are counted, not scored"
        )


def scope_of(judge: Judge, questions: QuestionSplits, iterations: int) -> JudgeScope:
    """What the judge can judge of all questions. Raises ConfigError where a set that has to be scored (validation,
    test, or an iteration's minibatch) has no question that it can."""
    reasons = {
        name: judge.cannot_tell(example.question, example.meta["answers"])
        for name, example in questions.by_id.items()
    }
    sets: list[tuple[str, Sequence[TaskExample]]] = [
        ("the validation set", questions.validation),
        ("the test set", questions.test),
        *((f"the minibatch of iteration {i}", questions.minibatch(i)) for i in range(iterations)),
    ]
    for name, examples in sets:
        if examples and all(reasons[example.id] for example in examples):
            what = f"{judge.name}: {reasons[examples[0].id]}"
            some = f"a judge that can judge some of {name} ({len(examples)} questions)"
            raise wrong_value("evolution.judge", what, f"{some}: `kind: openai`, or other questions")
    unjudgeable = [reason for reason in reasons.values() if reason]
    return JudgeScope(len(reasons), len(unjudgeable), next(iter(unjudgeable), ""))
