"""Every decision of a run in about 150 bytes, with the place of the whole event in the log."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from operator import attrgetter
from struct import Struct
from typing import Any, get_type_hints
from zlib import crc32

from app.state.columns import Columns, Names
from engine.events import DecisionTaken, ExampleEvaluated
from engine.run.event_log import LogPlace

NULL = -1
"""`chosen` of the null action, `layer` where nothing was injected."""


_KEY = Struct("4i")
"""Method, example, segment and phase as the key of a decision: 16 bytes are quick to make for a million rows."""
_MOST_SEGMENTS = (1 << 31) - 1
"""Of an answer: the largest number that a key holds."""
_IN_THE_LOG = {"seq", "time", "stage", "candidates", "null_probe", "prefix", "segment", "null_segment"}
"""What every event says, and texts: these are read in the log, and have no column made from them."""


def _fields(*types: object) -> tuple[str, ...]:
    """The fields of a decision that are of these types, in their order."""
    hints = get_type_hints(DecisionTaken)
    names = (name for name in DecisionTaken.__struct_fields__ if name not in _IN_THE_LOG)
    return tuple(name for name in names if hints[name] in types)


_NAMES, _WHOLE, _FIGURES = _fields(str, str | None), _fields(int, int | None), _fields(float, float | None)
_names_of, _whole_of, _figures_of = attrgetter(*_NAMES), attrgetter(*_WHOLE), attrgetter(*_FIGURES)
_FIGURES_OF_AN_ANSWER = ("correct", "tokens_used", "probe_tokens_used", "decisions", "steered")
_figures_of_an_answer = attrgetter(*_FIGURES_OF_AN_ANSWER)


class Decisions(Columns):
    """Decisions in the order of the log, each once: a column for each field that is a name or a number, then what is to
    be known of the segment's text, and the event's place. A figure that the event does not have is NaN."""

    TYPES = {
        **dict.fromkeys(_NAMES, "i"),
        **dict.fromkeys(_WHOLE, "i"),
        **dict.fromkeys(_FIGURES, "d"),
        "characters": "i",
        "crc": "I",
        "seq": "q",
        "length": "i",
        "offset": "q",
    }

    def row(self, event: DecisionTaken, offset: int, length: int) -> tuple[Any, ...]:
        """What the table keeps of `event`, its key first: for `add`, `otherwise` and `put`."""
        number = self.names
        m = max(-_MOST_SEGMENTS - 1, min(event.m, _MOST_SEGMENTS))  # as the column keeps it
        return (
            _KEY.pack(number[event.method], number[event.example], m, number[event.phase]),
            *[NULL if text is None else number[text] for text in _names_of(event)],
            *[NULL if value is None else value for value in _whole_of(event)],
            *[nan if value is None else value for value in _figures_of(event)],
            len(event.segment),
            crc32(event.segment.encode(errors="surrogatepass")),
            event.seq,
            length,
            offset,
        )

    def chain(self, method: int, example: int) -> list[int]:
        """The rows of an example's segments under a method, in their order, the tail last."""
        phases = [number for name in ("segment", "tail") if (number := self.names.get(name)) is not None]
        row_of, rows = self.keys, list[int]()
        while True:
            before = len(rows)
            for phase in phases:
                row = row_of.get(_KEY.pack(method, example, before + 1, phase))
                if row is not None and row < len(self):
                    rows.append(row)
                    break
            if len(rows) == before:
                return rows

    def first_difference(self, chain: Sequence[int], text: str) -> int:
        """The first segment, from 1, of the rows `chain` that does not go on as `text` does; 0 where the segments are
        all of it, or where there are none. Segments are compared by their checksums: their texts stand in the log."""
        lengths, sums, at = self.column("characters"), self.column("crc"), 0
        for m, row in enumerate(chain, start=1):
            piece = text[at : at + lengths[row]]
            if crc32(piece.encode(errors="surrogatepass")) != sums[row]:
                return m
            at += lengths[row]
        return 0 if at == len(text) else len(chain)

    def text(self, name: str, row: int) -> str:
        """A column of names as a string; the null action is ``null``."""
        number = self.column(name)[row]
        return "null" if number == NULL else self.names.texts[number]

    def place(self, row: int) -> LogPlace:
        """Where the whole event is to be read."""
        return LogPlace(self.column("offset")[row], self.column("length")[row])


class Outcomes(Columns):
    """Evaluated examples of all methods in the order of the log, each once. `left`: the segment in which the answer
    left greedy's way; 0 where it did not, or where that is not known."""

    IGNORED = Columns.IGNORED | {"left"}

    TYPES = {
        **dict.fromkeys(("method", "example", *_FIGURES_OF_AN_ANSWER, "left", "length"), "i"),
        "offset": "q",
    }

    def __init__(self, names: Names) -> None:
        super().__init__(names)
        self._greedy = names["greedy"]

    def row(self, event: ExampleEvaluated, offset: int, length: int) -> tuple[Any, ...]:
        """What the table keeps of `event`, its key first: for `add`, `otherwise` and `put`."""
        key = (self.names[event.method], self.names[event.example])
        return key, *key, *_figures_of_an_answer(event), 0, length, offset

    def leaves(self, method: int, example: int, segment: int) -> None:
        """The answer left greedy's way in `segment`. Copies share what is written here; it follows from the log alone,
        so it is right for all of them."""
        if (row := self.find_key((method, example))) is not None:
            self.column("left")[row] = segment

    def correct(self, method: int, example: int) -> bool | None:
        """Whether the method got the example right; None while it is not known."""
        row = self.find_key((method, example))
        return None if row is None else bool(self.column("correct")[row])

    def against_greedy(self, method: int, example: int) -> int | None:
        """1: right where greedy is wrong, -1: wrong where greedy is right, 0: no difference; None: not known."""
        if method == self._greedy:
            return 0
        correct, greedy = self.correct(method, example), self.correct(self._greedy, example)
        return None if correct is None or greedy is None else correct - greedy

    def left(self, method: int, example: int) -> int:
        """The segment in which the answer left greedy's way; 0: none, or not known."""
        row = self.find_key((method, example))
        return 0 if row is None else self.column("left")[row]

    def place(self, method: str, example: str) -> LogPlace | None:
        """Where the whole event is to be read."""
        row = self.find_key((self.names.get(method), self.names.get(example)))
        if row is None:
            return None
        return LogPlace(self.column("offset")[row], self.column("length")[row])
