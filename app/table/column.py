"""A column of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Column:
    """A column of fixed width. Where the table is too narrow, the highest `priority` is left out first; a `flex`
    column takes the remaining room, up to three times its width. `name`: a text that is too long loses its head."""

    key: str
    label: str
    width: int
    justify: Literal["left", "right", "center"] = "left"
    priority: int = 0
    flex: bool = False
    help: str = ""
    name: bool = False
