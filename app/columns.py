"""Append-only storage that copies share: a copy is a length, so keeping a hundred of them costs nothing.

A copy that is folded on over the same log meets rows that the original has appended already; it takes them
over by their place in the log instead of appending them again. One writer appends at a time.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import Generic, Self, TypeVar, overload

T = TypeVar("T")


class Grow(Generic[T]):
    """A list that only grows. `share()` gives the same items as of now, for the price of a length."""

    __slots__ = ("_items", "_n")

    def __init__(self) -> None:
        self._items: list[T] = []
        self._n = 0

    def append(self, item: T) -> None:
        """Add `item`; where another holder has gone on differently, from a list of one's own."""
        if self._n < len(self._items):
            if self._items[self._n] == item:
                self._n += 1
                return
            self._items = self._items[: self._n]
        self._items.append(item)
        self._n += 1

    def share(self) -> Grow[T]:
        """The items as of now, in the same memory."""
        other: Grow[T] = Grow()
        other._items, other._n = self._items, self._n
        return other

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return self._items[: self._n][index]
        if index < 0:
            index += self._n
        if not 0 <= index < self._n:
            raise IndexError(index)
        return self._items[index]

    def __iter__(self) -> Iterator[T]:
        for index in range(self._n):
            yield self._items[index]


class Names:
    """Small numbers for repeated strings. Shared by all copies: numbers never change, so more never hurt."""

    __slots__ = ("_numbers", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of `text`, given to it if it is new."""
        number = self._numbers.get(text)
        if number is None:
            number = len(self.texts)
            self.texts.append(text)
            self._numbers[text] = number
        return number

    def find(self, text: str) -> int | None:
        """The number of `text` if it has one."""
        return self._numbers.get(text)


class Columns:
    """Rows of numbers, one typed array a column. The last column must be `offset`, the row's place in the
    log: it is appended last, so a row that can be seen is whole, and it tells rows of the same log apart."""

    TYPES: Mapping[str, str] = {}

    def __init__(self) -> None:
        self._arrays = [array(code) for code in self.TYPES.values()]
        self._by_name = dict(zip(self.TYPES, self._arrays, strict=True))
        self._n = 0

    def column(self, name: str) -> array:
        """The whole array; rows from `len(self)` on belong to somebody else."""
        return self._by_name[name]

    def add(self, *row: float) -> bool:
        """Add a row in the order of `TYPES`. False when another holder had already added it."""
        offsets = self._arrays[-1]
        if self._n < len(offsets):
            if offsets[self._n] == row[-1]:
                self._n += 1
                return False
            self._part()
        for values, value in zip(self._arrays, row, strict=True):
            values.append(value)  # type: ignore[arg-type]
        self._n += 1
        return True

    def share(self) -> Self:
        """The rows as of now, in the same memory."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def shares(self, other: Columns) -> bool:
        """Whether both stand on the same memory: then the rows that both have are equal."""
        return self._arrays[-1] is other._arrays[-1]

    def _part(self) -> None:
        """Go on in memory of one's own."""
        self._arrays = [values[: self._n] for values in self._arrays]
        self._by_name = dict(zip(self.TYPES, self._arrays, strict=True))

    def __len__(self) -> int:
        return self._n
