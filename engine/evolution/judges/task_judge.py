"""The offline judge of a task's answers: the task's own answer extraction and metric, as ESM uses them."""

from __future__ import annotations

from collections.abc import Sequence

from engine.evolution.judges.judge import Verdict
from engine.tasks.task import Task


class TaskJudge:
    """Reads the predicted answer out of the text and compares it with the gold answer."""

    def __init__(self, task: Task) -> None:
        self.name = f"{task.name} (the task's own metric)"
        self._task = task

    def judge(self, question: str, golds: Sequence[str], answer: str) -> Verdict:
        """Right if the predicted answer is any of the gold answers; wrong where there is none."""
        pred = self._task.extract(answer)
        if not pred:
            return Verdict(False, "no answer can be read out of the text")
        right = any(self._task.is_correct(pred, gold) for gold in golds)
        return Verdict(right, f"answered {pred}, the gold answer is {' or '.join(golds)}")

    def cannot_tell(self, question: str, golds: Sequence[str]) -> str:
        """Empty: a task's questions all have an answer that its metric can compare."""
        return ""
