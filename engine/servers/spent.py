"""What asking a server costs."""

from __future__ import annotations

import msgspec


class Spent(msgspec.Struct, frozen=True):
    """Requests that were sent; tokens of prompts and completions; cost in the prices' unit. Stands in files, too."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.calls + other.calls, self.tokens + other.tokens, self.cost + other.cost)
