"""How far a stage is, from its own events."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.events import StageFailed

WAITING, RUNNING, PAUSED, FINISHED, SKIPPED, STOPPED, FAILED = (
    "waiting",
    "running",
    "paused",
    "finished",
    "skipped",
    "stopped",
    "failed",
)


@dataclass(frozen=True, slots=True)
class StageState:
    """A stage as its last event left it. `begun_at`: items that were there before this attempt;
    `tokens`, `elapsed`: of this attempt."""

    name: str
    status: str = WAITING
    done: int = 0
    total: int = 0
    unit: str = "items"
    begun_at: int = 0
    tokens: int = 0
    elapsed: float = 0.0
    note: str = ""
    started: float = 0.0
    seconds: float = 0.0
    summary: dict[str, float | int | str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    error: StageFailed | None = None

    @property
    def active(self) -> bool:
        """Whether it is at work, or waits in the middle of it."""
        return self.status in (RUNNING, PAUSED)

    @property
    def fraction(self) -> float:
        """Between 0 and 1."""
        if self.status in (FINISHED, SKIPPED):
            return 1.0
        return min(1.0, self.done / self.total) if self.total > 0 else 0.0

    @property
    def tokens_per_second(self) -> float | None:
        """None before anything was generated."""
        return self.tokens / self.elapsed if self.tokens and self.elapsed > 0 else None

    @property
    def items_per_second(self) -> float | None:
        """None before the first item of this attempt."""
        new = self.done - self.begun_at
        return new / self.elapsed if new > 0 and self.elapsed > 0 else None

    @property
    def eta(self) -> float | None:
        """Seconds to go at the pace so far; None when there is no pace yet or nothing left to do."""
        pace = self.items_per_second
        if pace is None or not self.active or self.done >= self.total:
            return None
        return (self.total - self.done) / pace
