"""An axis: round numbers for its ticks, and where a value stands on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.curves import ticks
from app.wording.figures import tick


@dataclass(frozen=True)
class Axis:
    """From `low` to `high` over `dots` dots, 0 is the first; `ticks` with their labels."""

    low: float
    high: float
    dots: int
    ticks: Sequence[float]

    def dot(self, value: float) -> int:
        """The dot on which `value` stands, kept within the axis."""
        return round(self.places([value])[0])

    def places(self, values: Iterable[float]) -> list[float]:
        """Where between the middles of the first dot (0) and the last the values stand."""
        scale = (self.dots - 1) / ((self.high - self.low) or 1.0)
        last = self.dots - 1.0
        places = [(value - self.low) * scale for value in values]
        return [0.0 if place < 0 else last if place > last else place for place in places]

    @property
    def labels(self) -> list[str]:
        """The ticks as text."""
        return [tick(value) for value in self.ticks]


def spanning(values: Sequence[float], dots: int, most: int) -> Axis:
    """An axis from the lowest to the highest value, with about `most` ticks; from tick to tick where less than two
    would lie between the values."""
    rounded = ticks(values, most)
    low, high = min(values), max(values)
    inside = [tick for tick in rounded if low <= tick <= high]
    return Axis(low, high, dots, inside) if len(inside) > 1 else Axis(rounded[0], rounded[-1], dots, rounded)
