"""Append-only storage that copies share: a copy is a length, so keeping a hundred of them costs nothing.

A copy that is folded on over the same log meets rows that the original has appended already; it takes them
over by their place in the log instead of appending them again. One writer appends at a time.

**What a run says twice counts once**, by key. Work that was reported and not yet stored when its worker was killed is
done and reported again. Where both reports say the same, the first one stays; else the later one takes its row, because
it is what the run's files hold. The row changes in a copy: what was shared before still says what was known then.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class Keys(dict[Hashable, int]):
    """Which row has which key. Shared by copies: for each, only rows below its own length count."""

    __slots__ = ()

    def find(self, key: Hashable, length: int) -> int | None:
        """The row of `key` among the first `length` rows."""
        row = self.get(key)
        return None if row is None or row >= length else row

    def part(self, length: int) -> Keys:
        """The keys of the first `length` rows."""
        return Keys((key, row) for key, row in self.items() if row < length)


class AppendOnlyList(Generic[T]):
    """A list that only grows. `share()` gives the same items as of now, for the price of a length."""

    __slots__ = ("_items", "_keys", "_n")

    def __init__(self) -> None:
        self._items: list[T] = []
        self._keys = Keys()
        self._n = 0

    def append(self, item: T, key: Hashable = None) -> None:
        """Add `item`; one with the same key that says something else gives its row to it. Where another holder of the
        list has appended other items, this one continues in a copy."""
        if key is not None and (row := self._keys.find(key, self._n)) is not None:
            if _says(self._items[row]) != _says(item):
                self._detach()
                self._items[row] = item
            return
        if self._n < len(self._items):
            if self._items[self._n] == item:
                self._n += 1
                return
            self._detach()
        self._items.append(item)
        if key is not None:
            self._keys[key] = self._n
        self._n += 1

    def _detach(self) -> None:
        self._items, self._keys = self._items[: self._n], self._keys.part(self._n)

    def find(self, key: Hashable) -> T | None:
        """The item that was added with this key."""
        row = self._keys.find(key, self._n)
        return None if row is None else self._items[row]

    def share(self) -> AppendOnlyList[T]:
        """The items as of now, in the same memory."""
        shared: AppendOnlyList[T] = AppendOnlyList()
        shared._items, shared._keys, shared._n = self._items, self._keys, self._n
        return shared

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


_IGNORED = frozenset({"seq", "time", "length", "offset", "place"})
"""Of a report: when it came and where it stands in the log."""


def _says(item: Any) -> object:
    fields: Sequence[str] = getattr(item, "_fields", ()) or getattr(item, "__struct_fields__", ())
    return [getattr(item, name) for name in fields if name not in _IGNORED] if fields else item


class Names(dict[str, int]):
    """Small numbers for repeated strings: a text that is looked up and new gets the next. Shared by all copies: numbers
    never change, so more never hurt."""

    __slots__ = ("texts",)

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self.texts)
        self.texts.append(text)
        return number

    def share(self) -> Self:
        """The same."""
        return self


class Texts(dict[str, str]):
    """Texts by name. Shared by all copies: a text never changes, so more never hurt."""

    def share(self) -> Self:
        """The same."""
        return self


class Columns:
    """Rows of numbers, one typed array a column; `names`: of the texts that stand there as numbers; `keys`: the rows by
    key, of all copies. The last column must be `offset`, the row's place in the log: it is appended last, so a row that
    can be seen is whole, and it distinguishes rows of the same log."""

    TYPES: Mapping[str, str] = {}
    IGNORED: frozenset[str] = _IGNORED
    """Columns that may differ where a report is repeated."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._adopt([array(code) for code in self.TYPES.values()], Keys(), 0)

    def _adopt(self, arrays: list[array], keys: Keys, length: int) -> None:
        self._arrays, self.keys, self._n = arrays, keys, length
        self._by_name = dict(zip(self.TYPES, arrays, strict=True))

    def find_key(self, key: Hashable) -> int | None:
        """The row that was added with this key."""
        return self.keys.find(key, self._n)

    def column(self, name: str) -> array:
        """The whole array; rows from `len(self)` on belong to another copy."""
        return self._by_name[name]

    def add(self, key: Hashable, *row: float) -> bool:
        """Add a row in the order of `TYPES`, unless there is one with this key; whether it is new."""
        n, rows = self._n, self.keys
        known = rows.get(key)
        if known is not None and known < n:
            return False
        offsets = self._arrays[-1]
        if n < len(offsets):
            if offsets[n] == row[-1]:
                self._n = n + 1
                return True
            self.detach()
            rows = self.keys
        rows[key] = n
        try:  # a loop that runs in C: for each decision of a run
            deque(map(array.append, self._arrays, row), maxlen=0)
        except OverflowError:  # a log from elsewhere may say anything
            for values, value in zip(self._arrays, row, strict=True):
                del values[n:]
                values.append(_nearest(values, value))
        self._n = n + 1
        return True

    def conflicting_row(self, key: Hashable, *row: float) -> int | None:
        """The row with this key, if it says something else."""
        at = self.find_key(key)
        if at is None:
            return None
        pairs = ((values[at], value) for values, value in self._reported(row))
        return at if any(a != b and not (a != a and b != b) for a, b in pairs) else None

    def _reported(self, row: Sequence[float]) -> Iterable[tuple[array, float]]:
        return ((self._by_name[n], v) for n, v in zip(self.TYPES, row, strict=True) if n not in self.IGNORED)

    def put(self, at: int, *row: float) -> None:
        """Let row `at` be this one, in a copy."""
        self.detach()
        for values, value in zip(self._arrays, row, strict=True):
            values[at] = _nearest(values, value)

    def detach(self) -> None:
        """Share no longer: what is written now is in this table alone."""
        self._adopt([values[: self._n] for values in self._arrays], self.keys.part(self._n), self._n)

    def share(self) -> Self:
        """The rows as of now, in the same memory."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def shares(self, other: Columns) -> bool:
        """Whether both stand on the same memory: then the rows that both have are equal."""
        return self._arrays[-1] is other._arrays[-1]

    def __len__(self) -> int:
        return self._n


def _nearest(values: array, value: Any) -> Any:
    """The number, or the nearest to it that a column of whole numbers with a sign holds."""
    if values.typecode not in "iq":
        return value
    largest = (1 << 8 * values.itemsize - 1) - 1
    return max(-largest - 1, min(value, largest))
