"""What differs between two texts, word by word and line by line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from app.blocks.block import cut

_MOST_WORDS = 3_000


def changed_pieces(new: str, old: str) -> list[tuple[str, str]]:
    """How `old` became `new`: pieces with `+` (only the new one has it), `-` (only the old one) or a space."""
    new, old = cut(new), cut(old)
    after, before = (re.findall(r"\s+|\w+|[^\w\s]", text) for text in (new, old))
    if max(len(after), len(before)) > _MOST_WORDS:
        return [("-", old), ("+", new)]
    pieces: list[tuple[str, str]] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            pieces.append((" ", "".join(before[a:b])))
            continue
        pieces += [(sign, "".join(words)) for sign, words in (("-", before[a:b]), ("+", after[c:d])) if words]
    return pieces


def changed_lines(pieces: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The same by whole lines, for what cannot mark a word."""
    old, new = (
        "".join(text for sign, text in pieces if sign in kinds).splitlines() for kinds in (" -", " +")
    )
    lines: list[tuple[str, str]] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        lines += [(" " if kind == "equal" else "-", line) for line in old[a:b]]
        lines += [("+", line) for line in new[c:d] if kind != "equal"]
    return [(sign, line) for sign, line in lines if line.strip()]
