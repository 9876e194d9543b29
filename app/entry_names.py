"""Names of memory entries as they are typed, and in little room."""

from __future__ import annotations

import re

from app.blocks.fit import fit

_STEP = re.compile(r", step \d+")
_BETWEEN = re.compile(r"\+|,(?! step \d)")


def typed_names(text: str) -> list[str]:
    """Names, ids or numbers with commas or + between them; a name may hold spaces, numbers need nothing more than a
    space between them. `->` is the arrow of a name."""
    pieces = [piece.strip() for piece in _BETWEEN.split(text.replace("->", "→"))]
    words = (piece.split() for piece in pieces)
    return [
        name
        for piece, parts in zip(pieces, words, strict=True)
        for name in (parts if all(map(str.isdecimal, parts)) else [piece])
    ]


def name_within(name: str, width: int) -> str:
    """A name in at most `width` cells: one that is too long goes without its step, which candidates of one decision
    share; its number stays."""
    return fit(name if len(name) <= width else _STEP.sub("", name), width)
