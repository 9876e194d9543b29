"""What asking a server costs, and what it costs where nothing came of it."""

from __future__ import annotations

import msgspec

from engine.errors import SteerError


class Spent(msgspec.Struct, frozen=True):
    """Requests that were sent; tokens of prompts and completions; cost in the prices' unit. Stands in files, too."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.calls + other.calls, self.tokens + other.tokens, self.cost + other.cost)


class AskFailed(SteerError):
    """What was asked has no usable answer. `spent`: cost of the attempt; `final`: another one is of no use."""

    spent = Spent()
    final = False
