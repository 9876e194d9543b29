"""What differs between two texts, word by word and line by line."""

from __future__ import annotations

import re
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


def changed_lines(new: str, old: str) -> list[tuple[str, str]]:
    """The same by whole lines, for what cannot mark a word."""
    after, before = cut(new).splitlines(), cut(old).splitlines()
    lines: list[tuple[str, str]] = []
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        lines += [(" " if kind == "equal" else "-", line) for line in before[a:b]]
        lines += [("+", line) for line in after[c:d] if kind != "equal"]
    return [(sign, line) for sign, line in lines if line.strip()]
