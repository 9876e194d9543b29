"""A kind of case: a table with a row for each, and a case in full."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from app.blocks.block import Block
from app.methods.source import CaseSource
from app.state.columns import AppendOnlyList
from app.state.run import RunState
from app.table.column import ListColumn, T
from engine.events import Event


@dataclass(frozen=True)
class Cases(Generic[T]):
    """`name`: what they are, in the plural; `event`: the type whose event a case is drawn from, at the row's `place`;
    `also`: other types that a case can be drawn from, as they belong to its row (they stand at one of its `places`);
    `words`: a case in a few words, from its event; `draw`: a case in full; `notable`: whether a finished run is read
    from this row on, and what `notable_words` calls such a row; `remark`: what all rows together say; `empty`: said
    while there is none; `order`: the column by which a finished run's rows stand at first, and whether downwards;
    `steps`: how many steps a case has that can be looked at one by one; `columns_of`: those that say something.
    """

    name: str
    columns: Sequence[ListColumn[T]]
    rows: Callable[[RunState], Sequence[T] | AppendOnlyList[T]]
    event: type[Event]
    words: Callable[[Any], str]
    draw: Callable[[Any, CaseSource], list[Block]]
    empty: str
    notable: Callable[[RunState, T], bool] = lambda state, row: False
    notable_words: str = ""
    remark: Callable[[RunState], str] = lambda state: ""
    order: tuple[str, bool] | None = None
    steps: Callable[[T], int] | None = None
    also: Sequence[type[Event]] = ()
    columns_of: Callable[[RunState], Sequence[ListColumn[T]]] | None = None

    def matching(self, state: RunState, matches: Callable[[T], bool]) -> list[int]:
        """The numbers of the rows that match."""
        return [number for number, row in enumerate(self.rows(state)) if matches(row)]
