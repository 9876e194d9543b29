"""How late the clock of a console's event loop ticks, which is how long a key waits."""

from __future__ import annotations

import time
from collections import deque

_KEPT = 600


class LoopLag:
    """Call `tick` every `every` seconds from the event loop."""

    def __init__(self, every: float = 0.1) -> None:
        self.every = every
        self._late: deque[float] = deque(maxlen=_KEPT)
        self._last: float | None = None

    def tick(self) -> None:
        """The clock ticked."""
        now = time.perf_counter()
        if self._last is not None:
            self._late.append(max(0.0, now - self._last - self.every))
        self._last = now

    def percentile(self, share: float) -> float:
        """Milliseconds that `share` (0 to 1) of the last minute's ticks were late at most."""
        late = sorted(self._late)
        return late[min(len(late) - 1, int(share * len(late)))] * 1000 if late else 0.0

    def __str__(self) -> str:
        p50, p95, top = (self.percentile(share) for share in (0.5, 0.95, 1.0))
        return f"p50 {p50:.0f} ms, p95 {p95:.0f} ms, max {top:.0f} ms late"
