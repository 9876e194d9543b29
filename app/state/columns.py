"""Append-only storage that copies share: a copy is a length, so keeping a hundred of them costs nothing.

A copy that is folded on over the same log meets rows that the original has appended already; it takes them
over by their place in the log instead of appending them again. One writer appends at a time.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator, Mapping
from typing import Generic, Self, TypeVar, overload

T = TypeVar("T")


class _Keys:
    """Which row has which key. Shared by copies: for each, only rows below its own length count."""

    __slots__ = ("_rows",)

    def __init__(self, rows: dict[Hashable, int] | None = None) -> None:
        self._rows: dict[Hashable, int] = {} if rows is None else rows

    def find(self, key: Hashable, length: int) -> int | None:
        row = self._rows.get(key)
        return None if row is None or row >= length else row

    def set(self, key: Hashable, row: int) -> None:
        self._rows[key] = row

    def part(self, length: int) -> _Keys:
        return _Keys({key: row for key, row in self._rows.items() if row < length})


class Grow(Generic[T]):
    """A list that only grows. `share()` gives the same items as of now, for the price of a length."""

    __slots__ = ("_items", "_keys", "_n")

    def __init__(self) -> None:
        self._items: list[T] = []
        self._keys = _Keys()
        self._n = 0

    def append(self, item: T, key: Hashable = None) -> None:
        """Add `item`, unless one with the same key is there: a worker that was killed between reporting
        and saving reports again, and the first report counts. Where another holder of the list has appended
        other items, this one continues in a copy."""
        if key is not None and self._keys.find(key, self._n) is not None:
            return
        if self._n < len(self._items):
            if self._items[self._n] == item:
                self._n += 1
                return
            self._items, self._keys = self._items[: self._n], self._keys.part(self._n)
        self._items.append(item)
        if key is not None:
            self._keys.set(key, self._n)
        self._n += 1

    def share(self) -> Grow[T]:
        """The items as of now, in the same memory."""
        other: Grow[T] = Grow()
        other._items, other._keys, other._n = self._items, self._keys, self._n
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


class Texts:
    """Texts by name. Shared by all copies: a text never changes, so more never hurt."""

    __slots__ = ("_texts",)

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def __setitem__(self, name: str, text: str) -> None:
        self._texts[name] = text

    def get(self, name: str) -> str:
        """The text of this name; nothing where there is none."""
        return self._texts.get(name, "")


class Columns:
    """Rows of numbers, one typed array a column. The last column must be `offset`, the row's place in the
    log: it is appended last, so a row that can be seen is whole, and it tells rows of the same log apart."""

    TYPES: Mapping[str, str] = {}

    def __init__(self) -> None:
        self._arrays = [array(code) for code in self.TYPES.values()]
        self._by_name = dict(zip(self.TYPES, self._arrays, strict=True))
        self._keys = _Keys()
        self._n = 0

    def find_key(self, key: Hashable) -> int | None:
        """The row that was added with this key."""
        return self._keys.find(key, self._n)

    def column(self, name: str) -> array:
        """The whole array; rows from `len(self)` on belong to another copy."""
        return self._by_name[name]

    def add(self, key: Hashable, *row: float) -> None:
        """Add a row in the order of `TYPES`, unless there is one with this key (see `Grow.append`)."""
        if self._keys.find(key, self._n) is not None:
            return
        offsets = self._arrays[-1]
        if self._n < len(offsets):
            if offsets[self._n] == row[-1]:
                self._n += 1
                return
            self._part()
        self._keys.set(key, self._n)
        for values, value in zip(self._arrays, row, strict=True):
            values.append(value)  # type: ignore[arg-type]
        self._n += 1

    def share(self) -> Self:
        """The rows as of now, in the same memory."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def shares(self, other: Columns) -> bool:
        """Whether both stand on the same memory: then the rows that both have are equal."""
        return self._arrays[-1] is other._arrays[-1]

    def _part(self) -> None:
        """Continue in a copy of the memory."""
        self._arrays = [values[: self._n] for values in self._arrays]
        self._keys = self._keys.part(self._n)
        self._by_name = dict(zip(self.TYPES, self._arrays, strict=True))

    def __len__(self) -> int:
        return self._n
