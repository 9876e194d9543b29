"""How answers to problems in files of one's own are read and compared (`task.compare`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from engine.custom_class import error_text, imported
from engine.errors import ConfigError, DataError, Problem
from engine.tasks.task import Task

KINDS = {"exact": "exact", "number": "gsm8k", "math": "math500", "choice": "arc-c"}
"""`task.compare` -> the task whose reading of answers, metric and prompt it has."""


@dataclass(frozen=True)
class FunctionTask(Task):
    """`compare` names `module:function`: called with the whole text and the gold answer, it says whether it is right.
    The text as a whole counts as the prediction."""

    compare: str = ""

    def extract(self, text: str) -> str:
        return text.strip()

    def extract_marked(self, text: str) -> str:
        return text.strip()

    def is_correct(self, pred: str, gold: str) -> bool:
        """Raises DataError if the function fails, or answers neither True nor False."""
        function = comparing_function(self.compare)
        try:
            verdict = function(pred, gold)
        except (Exception, SystemExit) as error:
            raise _failed(self.compare, error_text(error), pred) from error
        if not isinstance(verdict, bool):
            raise _failed(self.compare, f"it returned {verdict!r:.40}, neither True nor False", pred)
        return verdict


def files_task(compare: str) -> Task:
    """The task of `task.dataset: files`. Raises ConfigError for a function that is not there."""
    if compare in KINDS:
        return Task("files", KINDS[compare])
    comparing_function(compare)
    return FunctionTask("files", "function", compare)


@cache
def comparing_function(name: str) -> Callable[[str, str], object]:
    """`module:function`, imported. Raises ConfigError."""
    function = imported(name, "task.compare")
    if not callable(function):
        raise ConfigError([Problem("task.compare", name, "a function of the text and the gold answer")])
    return function


def _failed(name: str, what: str, text: str) -> DataError:
    return DataError(
        what=f"the function `{name}` failed on the answer {text[-60:]!r}: {what}",
        where="task.compare",
        hint="let it return True or False for every text",
    )
