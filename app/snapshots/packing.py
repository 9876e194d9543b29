"""States of a run as bytes, and back. Nothing in the bytes names code to call: a value is one of the data classes that
the states and events are made of, and is read as that class says.

States that were shared (`MethodState.share`) keep sharing: what lies in common memory (lists, columns, texts) is
packed once and each state says how much of it is its own; an unchanging value that many states hold is packed once.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from functools import cache
from typing import Any

import msgspec

from app.snapshots.code import modules
from app.state.columns import AppendOnlyList, Columns, Keys, Names, Texts
from app.state.method import MethodState

Sections = list[bytes]

_Plain = str | int | float | bool | None
_Key = _Plain | tuple[_Plain, ...]
_PLAIN = (type(None), bool, int, float, str)


@cache
def _classes() -> dict[str, type]:
    """Of the unchanging values in states, by name."""
    kinds = (kind for module in modules() for kind in vars(module).values() if isinstance(kind, type))
    return {f"{kind.__module__}:{kind.__qualname__}": kind for kind in kinds if _is_value(kind)}


def _is_value(kind: type) -> bool:
    named_tuple = issubclass(kind, tuple) and hasattr(kind, "_fields")
    return named_tuple or issubclass(kind, msgspec.Struct) or is_dataclass(kind)


def _name(kind: type) -> str:
    name = f"{kind.__module__}:{kind.__qualname__}"
    if _classes().get(name) is not kind:
        raise TypeError(f"no packed form: {name}")  # a state of another package may hold anything
    return name


class Packer:
    """Packs states into `sections`, the first of which `close` fills."""

    def __init__(self) -> None:
        self.sections: Sections = [b""]
        self._memories: dict[int, int] = {}
        self._values: dict[int, int] = {}
        self._packed: list[tuple[str, bytes]] = []
        self._alive: list[object] = []  # so that no id is given twice

    def state(self, state: MethodState) -> bytes:
        """A state; the memory that it shares with others goes into sections of its own."""
        return msgspec.msgpack.encode(self._pack(state))

    def section(self, data: bytes) -> int:
        """The number of a new section."""
        self.sections.append(data)
        return len(self.sections) - 1

    def close(self) -> Sections:
        """All sections; nothing can be packed any more."""
        self.sections[0] = msgspec.msgpack.encode(self._packed)
        return self.sections

    def _pack(self, value: Any) -> Any:
        if type(value) in _PLAIN:
            return value
        if isinstance(value, MethodState):
            return ["state", {name: self._pack(below) for name, below in vars(value).items()}]
        if isinstance(value, AppendOnlyList):
            items, keys = value.memory
            return ["grow", self._memory(items, lambda: self._list(items, keys)), len(value)]
        if isinstance(value, Columns):
            arrays = value.memory
            return ["columns", self._memory(arrays, lambda: list(map(self._array, arrays))), len(value)]
        if isinstance(value, Names):
            return ["names", self._memory(value, lambda: value.texts)]
        if isinstance(value, Texts):
            return ["texts", self._memory(value, lambda: value.by_name)]
        if type(value) is dict:
            return ["dict", [[self._pack(key), self._pack(below)] for key, below in value.items()]]
        if type(value) in (list, tuple):
            return [type(value).__name__, [self._pack(below) for below in value]]
        return ["value", self._value(value)]

    def _value(self, value: object) -> int:
        if id(value) not in self._values:
            self._packed.append((_name(type(value)), msgspec.msgpack.encode(value)))
            self._values[id(value)] = len(self._packed) - 1
            self._alive.append(value)
        return self._values[id(value)]

    def _memory(self, shared: object, pack: Callable[[], object]) -> int:
        """The number of the section that holds a shared memory, or says in which others it lies."""
        if id(shared) not in self._memories:
            self._memories[id(shared)] = self.section(msgspec.msgpack.encode(pack()))
            self._alive.append(shared)
        return self._memories[id(shared)]

    def _array(self, values: array) -> int:
        return self.section(values.tobytes())

    def _list(self, items: list, keys: Keys) -> tuple[str, int, int]:
        """(class of the items, or "" if they are of several or plain; section of the items; section of the keys)"""
        kinds = set(map(type, items))
        kind = kinds.pop() if len(kinds) == 1 else None
        name = _name(kind) if kind is not None and kind not in _PLAIN and _is_value(kind) else ""
        packed = items if name else [self._pack(item) for item in items]
        of_keys = msgspec.msgpack.encode(list(keys.rows().items()))
        return name, self.section(msgspec.msgpack.encode(packed)), self.section(of_keys)


class Unpacker:
    """Makes states from what a `Packer` left. Anything that is not as it should be raises an error of some kind."""

    def __init__(self, sections: Sections) -> None:
        self._sections = sections
        self._packed = msgspec.msgpack.decode(sections[0], type=list[tuple[str, bytes]])
        self._values: dict[int, Any] = {}
        self._memories: dict[int, Any] = {}
        self._keys: list[Keys] = []

    def fill(self, state: MethodState, packed: bytes) -> None:
        """Make a new state, or a share of one that was filled, the packed one."""
        self._unpack(msgspec.msgpack.decode(packed), state)

    def take(self, number: int) -> bytes:
        """A section that is read once; its memory is given back."""
        section, self._sections[number] = self._sections[number], b""
        return section

    def find_keys(self) -> None:
        """Build what rows are found by, which else happens when the first is looked for."""
        for keys in self._keys:
            keys.rows()

    def _unpack(self, packed: Any, now: Any) -> Any:
        """`now`: what stands in the state in its place; it is kept where the state's own code refers to it."""
        if type(packed) in _PLAIN:
            return packed
        kind, *rest = packed
        return _UNPACK[kind](self, now, *rest)

    def _state(self, now: MethodState, fields: dict[str, Any]) -> MethodState:
        if not isinstance(now, MethodState) or fields.keys() != vars(now).keys():
            raise ValueError("another state")
        for name, packed in fields.items():
            setattr(now, name, self._unpack(packed, getattr(now, name)))
        return now

    def _dict(self, now: Any, items: list[Any]) -> dict[Any, Any]:
        before = now if isinstance(now, dict) else {}
        unpacked = ((self._unpack(key, None), below) for key, below in items)
        return {key: self._unpack(below, before.get(key)) for key, below in unpacked}

    def _value(self, now: object, number: int) -> Any:
        if number not in self._values:
            name, packed = self._packed[number]
            self._values[number] = msgspec.msgpack.decode(packed, type=_classes()[name])
        return self._values[number]

    def _append_only_list(self, now: object, number: int, length: int) -> AppendOnlyList[Any]:
        if number not in self._memories:
            self._memories[number] = self._items(*msgspec.msgpack.decode(self._sections[number]))
        items, keys = self._memories[number]
        return AppendOnlyList.of(items, keys, _within(length, items))

    def _items(self, name: str, items: int, keys: int) -> tuple[list[Any], Keys]:
        of_items, of_keys = self.take(items), self.take(keys)
        rows = msgspec.msgpack.Decoder(list[tuple[_Key, int]])
        later = Keys(lambda: dict(rows.decode(of_keys)))
        self._keys.append(later)
        if name:
            return msgspec.msgpack.decode(of_items, type=list[_classes()[name]]), later
        return [self._unpack(item, None) for item in msgspec.msgpack.decode(of_items)], later

    def _columns(self, now: Columns, number: int, length: int) -> Columns:
        if number not in self._memories:
            sections = msgspec.msgpack.decode(self._sections[number], type=list[int])
            arrays = [self._array(*each) for each in zip(now.TYPES.values(), sections, strict=True)]
            self._memories[number] = now.filled(arrays)
            self._keys.append(self._memories[number].keys)
        filled = self._memories[number]
        return filled.first(_within(length, *filled.memory))

    def _array(self, code: str, section: int) -> array:
        values = array(code)
        values.frombytes(self.take(section))
        return values

    def _names(self, now: Names, number: int) -> Names:
        if number not in self._memories:
            now.fill(msgspec.msgpack.decode(self.take(number), type=list[str]))
            self._memories[number] = now
        return now

    def _texts(self, now: Texts, number: int) -> Texts:
        if number not in self._memories:
            now.by_name.update(msgspec.msgpack.decode(self.take(number), type=dict[str, str]))
            self._memories[number] = now
        return now

    def _sequence(self, kind: Callable[[Iterable[Any]], Any], items: list[Any]) -> Any:
        return kind(self._unpack(item, None) for item in items)


_UNPACK: dict[str, Callable[..., Any]] = {
    "state": Unpacker._state,
    "dict": Unpacker._dict,
    "value": Unpacker._value,
    "grow": Unpacker._append_only_list,
    "columns": Unpacker._columns,
    "names": Unpacker._names,
    "texts": Unpacker._texts,
    "list": lambda self, now, items: self._sequence(list, items),
    "tuple": lambda self, now, items: self._sequence(tuple, items),
}


def _within(length: int, *memories: Any) -> int:
    if any(not 0 <= length <= len(memory) for memory in memories):
        raise ValueError("a length beyond its memory")
    return length
