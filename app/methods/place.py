"""Places in a run's screens: what can be opened from elsewhere, and what one comes back to."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass


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
