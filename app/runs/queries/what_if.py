"""The console's side of a what-if: a process of its own that holds what a run's answers were made with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from app.runs.queries.line_process import LineProcess
from engine.events import Event, decode


class WhatIfProcess(LineProcess):
    """Starts the process at the first request; requests run one after the other."""

    def __init__(self, run_dir: Path) -> None:
        super().__init__("what-if", run_dir)

    async def ask(self, system: str, fields: Mapping[str, object]) -> Event:
        """The answers, as the event that the run keeps. Raises SteerError with the process's error, or why it ended.
        `fields`: those of the method's `WhatIfRequest` in `engine/<system>/what_if.py`."""
        event = decode(await self.request({"system": system, **fields}))
        assert isinstance(event, Event)
        return event
