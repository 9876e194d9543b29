"""Names of memory entries as they are typed."""

from __future__ import annotations

import re

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
