"""The interval of a share, without numpy and scipy (`binomtest(...).proportion_ci` is the same up to rounding): the
interface uses it too, and must not wait for them."""

from __future__ import annotations

import math


def wilson(k: int, n: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Score interval of a share k/n (Wilson 1927); (0, 1) for n = 0."""
    if n == 0:
        return 0.0, 1.0
    share = k / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, centre - half), min(1.0, centre + half)
