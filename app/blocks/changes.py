"""What differs between two texts, word by word."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from app.blocks.block import Changes, Writing, cut, writing

_MOST_WORDS = 3_000


def changes(new: str, old: str) -> Changes | Writing:
    """How `old` became `new`; `new` alone where both are equal."""
    if new == old:
        return writing(new)
    new, old = cut(new), cut(old)
    after, before = (re.findall(r"\s+|\w+|[^\w\s]", text) for text in (new, old))
    if max(len(after), len(before)) > _MOST_WORDS:
        return Changes([("-", old), ("+", new)])
    pieces: list[tuple[str, str]] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            pieces.append((" ", "".join(before[a:b])))
            continue
        pieces += [(sign, "".join(words)) for sign, words in (("-", before[a:b]), ("+", after[c:d])) if words]
    return Changes(pieces)
