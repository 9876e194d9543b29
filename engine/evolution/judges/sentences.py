"""The sentences of an answer, and those that say what it comes to."""

from __future__ import annotations

import re
from collections.abc import Sequence

_END = re.compile(r"(?<=[.!?])[\"'”’)]?\s+(?=[\"'“‘(*\w])|\n\s*\n|\n(?=\s*[-*•#\dA-Z])")
_CONCLUDES = re.compile(
    r"^\W*(?:therefore|thus|hence|so|consequently|accordingly|overall|in (?:summary|conclusion|short)|to summari[sz]e"
    r"|as a result|this (?:indicates|means|shows|suggests|represents)|that is)\b|\banswer\b\s*(?:is|:)",
    re.IGNORECASE,
)
_PREAMBLE = re.compile(
    r"^\W*(?:to (?:determine|calculate|find|answer|see|assess|compute|compare|estimate|evaluate|identify)\b"
    r"|here (?:is|are)\b)|:\W*$",
    re.IGNORECASE,
)


def sentences(text: str) -> list[str]:
    """The sentences and lines of `text`, in order, without empty ones."""
    pieces = (" ".join(piece.split()) for piece in _END.split(text))
    return [piece for piece in pieces if piece]


def conclusion(parts: Sequence[str]) -> list[str]:
    """The sentences from the last one on that concludes ("Therefore, …"); none if no sentence does."""
    marked = [place for place, sentence in enumerate(parts) if _CONCLUDES.search(sentence)]
    return list(parts[marked[-1] :]) if marked else []


def first_claim(text: str) -> str:
    """The first sentence that is no announcement of what follows; empty if there is none."""
    return next((sentence for sentence in sentences(text) if not _PREAMBLE.search(sentence)), "")


def deciding(parts: Sequence[str]) -> list[str]:
    """The sentences that say what the answer comes to: the first claim, and those that conclude, else the last one."""
    claims = [sentence for sentence in parts if not _PREAMBLE.search(sentence)]
    ends = conclusion(parts) or list(parts[-1:])
    return list(dict.fromkeys([*claims[:1], *ends]))
