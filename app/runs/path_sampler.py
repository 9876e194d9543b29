"""The console's side of sampling a question again: a process of its own that holds the trained sampler."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from app.runs.line_process import LineProcess
from engine.events import QuestionSampled, decode


@dataclass(frozen=True)
class SampleAgain:
    """How to sample a question. `draw` 0 repeats the run's own samples; `distinct`: no path twice."""

    sample_id: str
    temperature: float
    prior_alpha: float
    samples: int
    distinct: bool = False
    draw: int = 1


class PathSampler:
    """Starts the process at the first request; requests run one after the other."""

    def __init__(self, run_dir: Path) -> None:
        self._process = LineProcess("sample-again", run_dir)

    async def ask(self, wanted: SampleAgain) -> QuestionSampled:
        """The new samples. Raises SteerError with the process's error, or why it ended."""
        event = decode(await self._process.ask(asdict(wanted)))
        assert isinstance(event, QuestionSampled)
        return event

    async def close(self) -> None:
        """End the process."""
        await self._process.close()
