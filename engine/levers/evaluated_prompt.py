"""The prompt that a run's evaluation used: a question in its template, behind its system message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.config.config import Config
from engine.levers.lever import Message, last_user, with_last
from engine.tasks.example import TaskExample
from engine.tasks.loaders import configured_task
from engine.tasks.task import Task

SystemOf = Literal["evaluation", "request", "evidence"]


@dataclass(frozen=True)
class PromptUsed:
    """What became of a request's messages. `as_evaluated`: it is the prompt that the evaluation would have used;
    `template`: what the question was put into; `system`: whose system message, if any; `why`: what differs."""

    as_evaluated: bool
    template: str | None = None
    system: SystemOf | None = None
    why: str = ""


@dataclass(frozen=True)
class EvaluatedPrompt:
    """How a run's task was asked. `template`: None for the task's own; `system`: the system message, if any."""

    task: Task
    template: str | None
    system: str | None

    @classmethod
    def of(cls, config: Config) -> EvaluatedPrompt:
        """Of a run's task."""
        return cls(configured_task(config.task), config.prompt.template, config.prompt.system)

    def applied(self, messages: Sequence[Message]) -> tuple[list[Message], PromptUsed]:
        """The messages as the evaluation would ask their question, and what was done. A system message that they bring
        stays; so does a conversation of several turns, which an evaluation does not have."""
        given = messages[0]["content"] if messages[0]["role"] == "system" else None
        if len(messages) > (1 if given is None else 2):
            return as_sent(messages, "a conversation of several turns: the evaluation asked in one")
        asked = with_last(messages, self._in_template(last_user(messages)))
        template = self._in_template("{question}")
        if given is None and self.system is not None:
            asked = [{"role": "system", "content": self.system}, *asked]
            return asked, PromptUsed(True, template, "evaluation")
        if given == self.system:
            return asked, PromptUsed(True, template, None if given is None else "request")
        why = "the evaluation had no system message" if self.system is None else "the evaluation had another"
        return asked, PromptUsed(False, template, "request", f"the system message is the request's: {why}")

    def _in_template(self, question: str) -> str:
        return self.task.prompt(TaskExample("", question, ""), self.template)


def as_sent(messages: Sequence[Message], why: str) -> tuple[list[Message], PromptUsed]:
    """The messages as they came, and why."""
    system = messages and messages[0]["role"] == "system"
    return [*messages], PromptUsed(False, None, "request" if system else None, f"as sent: {why}")


def with_evidence(messages: Sequence[Message]) -> PromptUsed:
    """Of a question to which evidence was added, as the answers over paths were evaluated."""
    if messages[0]["role"] == "system":
        return PromptUsed(False, None, "request", "the system message is the request's: evidence has another")
    return PromptUsed(len(messages) == 1, None, "evidence", "the question stands behind its evidence")
