"""What a memory entry is called: a few words of what its vector turns, such as `Backward → Forward, step 2`.

The words are those in which the wrong and the right text of its pair differ first; the step is its control point. A
right entry has no vector: it is `keep Forward, step 2`. A name that another entry has already gets a number behind it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from functools import cached_property, lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec

from engine.errors import DataError
from engine.events import Candidate, DecisionTaken
from engine.files import read_records

LONGEST = 28
"""Characters of a name without its number, but for steps of several digits."""
ARROW = " → "
NO_TEXT, THE_END = "solution", "end"
_WORD, _WORDS = 8, 17
"""Most characters of one word, and of all words on both sides of the arrow."""
_GIVEN = 60
"""Most characters of a name that a file gives."""
_EDGES = "\"'`*_()[]{}<>.,:;!?…“”‘’«»，。：；、！？（）「」【】"
_MINED = re.compile(r"(?:[^-]*-)?(?P<example>.+)_m(?P<m>\d+)_l\d+_(?P<kind>wrong|right)")


def turned(wrong: str, right: str | None) -> str:
    """`Backward → Forward`: the words in which two texts differ first; empty where they do not. `right` None: the
    dataset's solution, of which no text is kept."""
    if right is None:
        return ARROW.join((_cut(_bare((_words(wrong) or [THE_END])[0])), NO_TEXT))
    before: list[str] = []
    after: list[str] = []
    for left, new in zip_longest(_words(wrong), _words(right), fillvalue=""):
        if left == new:
            if before:
                break
            continue
        for side, word in zip((before, after), _pair(left, new), strict=True):
            side.append(word)
        if len(_joined(before) + _joined(after)) > _WORDS:
            break
    while len(before) > 1 and len(_joined(before) + _joined(after)) > _WORDS:
        del before[-1], after[-1]
    return ARROW.join((_joined(before) or THE_END, _joined(after) or THE_END)) if before else ""


def entry_name(kind: str, words: str, m: int) -> str:
    """The name of an entry of control point `m` whose pair differs in `words`."""
    what = words if kind == "wrong" else f"keep {words.rpartition(ARROW)[2]}"
    return f"{what}, step {m}"


@lru_cache(1 << 14)
def short_name(tool_name: str) -> str:
    """Of an entry whose texts are not known: the beginning of its example's id; of any other, as much as fits."""
    mined = _MINED.fullmatch(tool_name)
    if mined is None or len(tool_name) <= LONGEST:
        return _cut(_printable(tool_name), LONGEST)
    return entry_name(mined["kind"], _cut(_printable(mined["example"])), int(mined["m"]))


def free_name(name: str, taken: Container[str]) -> str:
    """`name`, with the first number behind it that makes it none of those `taken`."""
    number, tried = 1, name
    while tried in taken:
        number += 1
        tried = f"{name} #{number}"
    return tried


def candidate_name(candidate: Candidate) -> str:
    """What a candidate is called in a decision; logs of older versions do not say it."""
    return candidate.name or short_name(candidate.entry)


def chosen_name(decision: DecisionTaken) -> str:
    """What was injected, or `null`."""
    if decision.chosen is None:
        return "null"
    named = (candidate_name(c) for c in decision.candidates if c.entry == decision.chosen)
    return next(named, "") or short_name(decision.chosen)


class EntryNamer:
    """Names the entries of one memory, each once, in their order. `mined`: the folder with the texts of their pairs,
    which are read when an entry without a name comes."""

    def __init__(self, mined: Path) -> None:
        self._mined = mined
        self._taken: set[str] = set()

    def name(self, record: dict[str, Any]) -> str:
        """Of a line of candidates.jsonl, library.jsonl or entries.jsonl."""
        given = _cut(_printable(record.get("name", "")), _GIVEN)
        name = free_name(given or self._made(record), self._taken)
        self._taken.add(name)
        return name

    def named(self, records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The records, each with its `name`."""
        return [{**record, "name": self.name(record)} for record in records]

    def _made(self, record: dict[str, Any]) -> str:
        m = record["control_point_m"]
        texts = [text for text in self._texts.get(record["example_id"], ()) if text.segments >= m]
        if len(texts) > 1:
            wrong, right = (choose(texts, key=lambda t: (t.correct, t.reward)).text for choose in (min, max))
            if words := turned(wrong, None if record.get("source") == "gold" else right):
                return entry_name(record["kind"], words, m)
        return short_name(record["tool_name"])

    @cached_property
    def _texts(self) -> dict[str, list[_Text]]:
        try:
            return {
                line.example_id: line.rollouts
                for line in read_records(self._mined / "rollouts.jsonl", _Mined)
            }
        except (DataError, FileNotFoundError):
            return {}  # a name is worth no error: a memory goes anywhere without its texts


class _Text(msgspec.Struct):
    text: str
    correct: bool
    reward: float
    segments: int


class _Mined(msgspec.Struct):
    example_id: str
    rollouts: list[_Text]


def _words(text: str) -> list[str]:
    words = text.split()
    return words if "".join(words).isprintable() else list(filter(None, map(_printable, words)))


def _printable(text: str) -> str:
    """Without control codes, line breaks among them."""
    return "".join(filter(str.isprintable, text))


def _pair(left: str, new: str) -> tuple[str, str]:
    """Two different words as they are shown: short, and still different."""
    shown = _bare(left), _bare(new)
    if shown[0] == shown[1]:
        shown = left, new
    cut = _cut(shown[0]), _cut(shown[1])
    if cut[0] != cut[1]:
        return cut
    same = next(at for at, (a, b) in enumerate(zip_longest(*shown)) if a != b) - 1
    return _cut("…" + shown[0][same:]), _cut("…" + shown[1][same:])


def _bare(word: str) -> str:
    return word.strip(_EDGES) or word


def _cut(text: str, longest: int = _WORD) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _joined(words: Sequence[str]) -> str:
    return " ".join(filter(None, words))
