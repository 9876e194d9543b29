"""What a virtual table shows: columns, and a source of rows that are made when they come into view."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Generic, TypeVar

from app.state.columns import AppendOnlyList
from app.table.column import Cell, Column, ListColumn, cell_of

T = TypeVar("T")


class RowSource:
    """Rows by position. A subclass gives `columns`, `__len__` and `cells`; the rest has defaults."""

    columns: Sequence[Column] = ()
    noun: str = "rows"

    def __len__(self) -> int:
        raise NotImplementedError

    def cells(self, row: int) -> tuple[Cell, ...]:
        """The row's cells, one for each column."""
        raise NotImplementedError

    def key(self, row: int) -> Hashable:
        """What the row is, wherever it stands."""
        return row

    def find(self, key: Hashable) -> int | None:
        """Where the row with this key stands now, if it does."""
        return next((row for row in range(len(self)) if self.key(row) == key), None)

    def sort(self, column: str | None, reverse: bool) -> None:
        """Order by a column; None for the order of the log."""

    def values(self, row: int) -> Sequence[object]:
        """The row's figures at full precision, for export."""
        return [cell.text for cell in self.cells(row)]

    def offset(self, row: int) -> int | None:
        """Where the row's event begins in the log, in bytes."""
        return None

    def row_at(self, offset: int) -> int | None:
        """The row whose event begins at this byte of the log."""
        return next((row for row in range(len(self)) if self.offset(row) == offset), None)

    @property
    def words(self) -> Sequence[str]:
        """Texts to highlight."""
        return ()


class ItemSource(RowSource, Generic[T]):
    """Rows that stand for items."""

    def show(self, items: Any) -> None:
        """Show these from now on."""
        raise NotImplementedError

    def item(self, row: int) -> T:
        """What stands on a row."""
        raise NotImplementedError

    def at(self, row: int) -> T | None:
        """What stands on a row, or on the last one; None without rows."""
        return self.item(min(row, len(self) - 1)) if len(self) else None


class ListSource(ItemSource[T]):
    """Rows from a sequence of objects, which may be exchanged for another at any time."""

    def __init__(self, columns: Sequence[ListColumn[T]], noun: str = "rows") -> None:
        self.columns = columns
        self.noun = noun
        self._columns = columns
        self._items: Sequence[T] | AppendOnlyList[T] = ()
        self._order: list[int] | None = None
        self._sort: tuple[str | None, bool] = (None, False)

    def show(self, items: Sequence[T] | AppendOnlyList[T], columns: Sequence[ListColumn[T]] = ()) -> None:
        """Show these items from now on, in other columns if some are given."""
        self._items = items
        if columns:
            self.columns = self._columns = columns
        self.sort(*self._sort)

    def item(self, row: int) -> T:
        return self._items[row if self._order is None else self._order[row]]

    def __len__(self) -> int:
        return len(self._items)

    def cells(self, row: int) -> tuple[Cell, ...]:
        item = self.item(row)
        return tuple(cell_of(column.show(column.value(item))) for column in self._columns)

    def values(self, row: int) -> Sequence[object]:
        item = self.item(row)
        return [column.plain(item) for column in self._columns]

    def offset(self, row: int) -> int | None:
        place = getattr(self.item(row), "place", None)
        return None if place is None else place.offset

    def row_at(self, offset: int) -> int | None:
        def is_there(row: int) -> bool:  # a row may be drawn from several events
            item = self.item(row)
            places = getattr(item, "places", None) or [getattr(item, "place", None)]
            return any(place is not None and place.offset == offset for place in places)

        return next((row for row in range(len(self)) if is_there(row)), None)

    def key(self, row: int) -> Hashable:
        return row if self._order is None else self._order[row]

    def find(self, key: Hashable) -> int | None:
        if not isinstance(key, int) or key >= len(self):
            return None
        return key if self._order is None else self._order.index(key)

    def sort(self, column: str | None, reverse: bool) -> None:
        self._sort = (column, reverse)
        by = next((c for c in self._columns if c.key == column), None)
        if by is None:
            self._order = None
            return
        plain, items = by.plain, self._items
        self._order = sorted(range(len(items)), key=lambda i: sort_key(plain(items[i])), reverse=reverse)


def sort_key(value: Any) -> tuple[bool, Any]:
    """Missing figures come before all others (behind them when reversed)."""
    missing = value is None or value != value
    return (not missing, 0 if missing else value)
