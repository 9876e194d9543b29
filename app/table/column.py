"""A column of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, Literal, NamedTuple, TypeVar, get_args

T = TypeVar("T")

Tone = Literal["", "dim", "strong", "good", "bad", "accent", "warn"]
TONES = get_args(Tone)


class Cell(NamedTuple):
    """A text and how it is meant; every tone also has a sign or word of its own, never colour alone."""

    text: str
    tone: Tone = ""


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


def _by_key(item: Any) -> Any:
    """Stands for the attribute that a column's key names."""


@dataclass(frozen=True)
class ListColumn(Column, Generic[T]):
    """A column over a list of objects: `value` is drawn by `show`; rows are sorted and exported by it. Without `value`
    it is the attribute that `key` names."""

    value: Callable[[T], Any] = _by_key
    show: Callable[[Any], str | Cell] = lambda value: value if isinstance(value, Cell) else str(value)

    def __post_init__(self) -> None:
        if self.value is _by_key:
            object.__setattr__(self, "value", attrgetter(self.key))

    def plain(self, item: T) -> str | float | None:
        """The value if it is a figure or a text, else the text that is drawn of it: records are neither sorted nor
        exported."""
        value = self.value(item)
        return (
            value if value is None or isinstance(value, str | int | float) else cell_of(self.show(value)).text
        )


def cell_of(shown: str | Cell) -> Cell:
    """What a column's `show` gave, as a cell."""
    return shown if isinstance(shown, Cell) else Cell(shown)
