"""A task: its prompt, its answer extraction and its metric."""

from __future__ import annotations

from dataclasses import dataclass

from engine.tasks.example import TaskExample
from engine.tasks.extractors import extract_marked, extract_pred
from engine.tasks.metrics import is_correct
from engine.tasks.prompts import TEMPLATES, render_user_prompt


@dataclass(frozen=True)
class Task:
    """A task by the name of its data set. `kind`: whose prompt, reading of answers and metric it has."""

    name: str
    kind: str

    def prompt(self, example: TaskExample, template: str | None = None) -> str:
        """The user's message: `template`, or the task's own, filled in."""
        return render_user_prompt(template or TEMPLATES[self.kind], example)

    def extract(self, text: str) -> str:
        """The predicted answer in `text`, empty when there is none."""
        return extract_pred(self.kind, text)

    def extract_marked(self, text: str) -> str:
        """The answer that `text` marks as its answer, empty when it marks none (strict extraction)."""
        return extract_marked(self.kind, text)

    def is_correct(self, pred: str, gold: str) -> bool:
        """Whether `pred` is the gold answer."""
        return is_correct(self.kind, pred, gold)
