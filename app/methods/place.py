"""Places in a run's screens: what can be opened from elsewhere, and what one comes back to."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

_KEPT = 50


@dataclass(frozen=True)
class OfEvent:
    """As the key of a place: the row whose event begins at byte `offset` of the log."""

    offset: int


@dataclass(frozen=True)
class Place:
    """`tab`: the id of its content; `key`: of the row under the cursor, as the table's source gives it (in a list, its
    number in the order of the log), None where no row is meant; `filter`: of the tab's table, where it has one; `open`:
    whether the row is shown in full."""

    tab: str
    key: Hashable = None
    filter: str = ""
    open: bool = False


class History:
    """The places that were left by going to an id; the newest is the next to come back to."""

    def __init__(self) -> None:
        self._left: list[Place] = []

    def leave(self, place: Place) -> None:
        """An id was followed from here."""
        self._left = [*self._left[-_KEPT:], place]

    def back(self) -> Place | None:
        """The place to come back to; None where there is none."""
        return self._left.pop() if self._left else None

    def __len__(self) -> int:
        return len(self._left)
