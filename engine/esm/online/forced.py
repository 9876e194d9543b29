"""A choice that a person makes in the controller's place, at one control point of one answer."""

from __future__ import annotations

from dataclasses import dataclass

from engine.lm.protocol import Steer


@dataclass(frozen=True)
class Forced:
    """At control point `m` the answer is steered by `steer`, or not at all if it is None, whatever the controller would
    have chosen. `name`: what is injected, for the record. `onward`: at all later control points, too."""

    m: int
    steer: Steer | None = None
    name: str | None = None
    onward: bool = False

    def at(self, m: int) -> bool:
        """Whether the choice holds at control point `m`."""
        return m == self.m or (self.onward and m > self.m)
