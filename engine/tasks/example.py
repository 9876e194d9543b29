"""One example of a task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TaskExample:
    """An example. `answer`: the gold answer as the metric compares it; `solution`: the worked solution, if known."""

    id: str
    question: str
    answer: str
    solution: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)
