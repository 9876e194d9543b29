"""An axis: round numbers for its ticks, and where a value stands on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from app.curves import ticks
from app.wording.figures import tick


@dataclass(frozen=True)
class Axis:
    """From `low` to `high` over `dots` dots, 0 is the first; `ticks` with their labels. With `log` the values are
    spread by their logarithm and have to be positive."""

    low: float
    high: float
    dots: int
    ticks: Sequence[float]
    log: bool = False

    def dot(self, value: float) -> int:
        """The dot on which `value` stands, kept within the axis."""
        return round(self.places([value])[0])

    def places(self, values: Iterable[float]) -> list[float]:
        """Where between the middles of the first dot (0) and the last the values stand."""
        low, high = (log10(v) if self.log else v for v in (self.low, self.high))
        scale = (self.dots - 1) / ((high - low) or 1.0)
        at = map(log10, values) if self.log else values
        last = self.dots - 1.0
        places = [(value - low) * scale for value in at]
        return [0.0 if place < 0 else last if place > last else place for place in places]

    @property
    def labels(self) -> list[str]:
        """The ticks as text."""
        return [tick(value) for value in self.ticks]


def spanning(values: Sequence[float], dots: int, most: int, log: bool = False) -> Axis:
    """An axis from the lowest to the highest value, with about `most` ticks; from tick to tick where less than two
    would lie between the values."""
    if log:
        return _log_axis(min(values), max(values), dots, most)
    rounded = ticks(values, most)
    low, high = min(values), max(values)
    inside = [tick for tick in rounded if low <= tick <= high]
    return Axis(low, high, dots, inside) if len(inside) > 1 else Axis(rounded[0], rounded[-1], dots, rounded)


def _log_axis(low: float, high: float, dots: int, most: int) -> Axis:
    """Ticks at powers of ten; where less than two lie between the values at 1, 2, 5, else at round numbers."""
    powers = [10.0**i for i in range(floor(log10(low)), ceil(log10(high)) + 1)]
    finer = [tick * factor for tick in powers for factor in (1, 2, 5)]
    for candidates in (powers[:: max(1, ceil(len(powers) / most))], finer, ticks([low, high], most)):
        inside = [tick for tick in candidates if low <= tick <= high]
        if len(inside) > 1:
            return Axis(low, high, dots, inside, log=True)
    return Axis(low, max(high, low * 1.01), dots, [low], log=True)
