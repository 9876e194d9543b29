"""Keys as a reader looks them up: one row for the keys of one command, and for the commands of one key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textual.binding import Binding

_MOST_KEYS = 4
_NUMBER = re.compile(r"\(-?\d+\)$")


@dataclass
class KeyRow:
    """`keys`: as they are displayed; `labels` and `helps`: of the commands, each once."""

    actions: list[str]
    keys: list[str]
    labels: list[str]
    helps: list[str]

    @property
    def shown_keys(self) -> list[str]:
        """The keys; of many the first and the last."""
        return self.keys if len(self.keys) <= _MOST_KEYS else [f"{self.keys[0]} … {self.keys[-1]}"]

    @property
    def label(self) -> str:
        """The commands' labels."""
        return ", ".join(self.labels)

    @property
    def help(self) -> str:
        """What the commands do."""
        return " ".join(self.helps)

    def add(self, binding: Binding, keys: Sequence[str]) -> None:
        """Another command of these keys, or other keys of this command. Keys that the row's display has already
        (`←→` has `→`) say nothing new."""
        if any("…" in key or any(new != key and new in key for new in keys) for key in self.keys):
            return
        if any(key != new and key in new for key in self.keys for new in keys):
            self.keys, self.labels, self.helps = [], [], []
        _extend(self.keys, keys)
        _extend(self.labels, [binding.description])
        _extend(self.helps, [binding.tooltip])
        _extend(self.actions, [_name(binding)])


def key_rows(bindings: Iterable[tuple[Binding, Sequence[str]]]) -> list[KeyRow]:
    """Rows of bindings, each with its keys as they are displayed."""
    rows: list[KeyRow] = []
    for binding, keys in bindings:
        row = next((row for row in rows if _name(binding) in row.actions or set(keys) <= set(row.keys)), None)
        if row is None:
            rows.append(row := KeyRow([], [], [], []))
        row.add(binding, keys)
    return rows


def _name(binding: Binding) -> str:
    """The action, without the number that it is given."""
    return _NUMBER.sub("", binding.action)


def _extend(known: list[str], new: Iterable[str]) -> None:
    known += [each for each in new if each and each not in known]
