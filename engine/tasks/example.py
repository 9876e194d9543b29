"""One example of a task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TaskExample:
    """`answer`: the gold answer as the metric compares it; `solution`: the worked text, where there is one."""

    id: str
    question: str
    answer: str
    solution: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)
