"""A terminal that cannot show Unicode: every sign becomes one of ASCII that still distinguishes right from wrong."""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment

from app.terminal.segment_filter import SegmentFilter

WARNING = (
    "This terminal is not set to UTF-8: + stands for right and finished, x for wrong and failed, ^ for better, "
    "v for worse. LC_ALL=C.UTF-8 gives it all signs."
)
_SIGNS = {
    "✓": "+", "✗": "x", "▲": "^", "▼": "v", "≈": "~", "≠": "!", "−": "-", "–": "-", "—": "-", "×": "x", "·": ".",
    "●": "*", "◉": "O", "○": "o", "■": "#", "▶": ">", "‖": "=", "◐": "%", "◌": ":", "⊘": "/", "★": "*", "☆": "o",
    "◆": "#", "◇": "o", "•": "*", "↻": "@", "›": ">", "▸": ">", "▾": "v", "→": ">", "←": "<", "↑": "^",
    "↓": "v", "⏎": "$", "⌫": "<", "…": ".", "│": "|", "┃": "|", "║": "|", "─": "-", "━": "=", "═": "=", "█": "#",
    "▇": "#", "▆": "*", "▅": "+", "▄": "=", "▃": "-", "▂": ".", "▁": "_", "α": "a", "β": "b", "ρ": "p",
    "δ": "d", "Δ": "d", "“": '"', "”": '"', "‘": "'", "’": "'",
}  # fmt: skip
_BRAILLE = range(0x2800, 0x2900)
_UPPER_DOTS = 0b00011011
_BOXES = range(0x2500, 0x2580)
_BLOCKS = range(0x2580, 0x25A0)


def takes_unicode(encoding: str | None, environment: Mapping[str, str]) -> bool:
    """Whether a terminal to which Python writes in `encoding` shows every sign. Under LC_ALL=C Python writes UTF-8,
    which the terminal may not read, unless a variable of Python's says so."""
    if environment.get("LC_ALL") in ("C", "POSIX") and not environment.keys() & {
        "PYTHONUTF8",
        "PYTHONIOENCODING",
    }:
        return False
    try:
        return codecs.lookup(encoding or "ascii").name.startswith("utf-")
    except LookupError:
        return False


def in_ascii(text: str) -> str:
    """The text as wide as it is, in ASCII."""
    return (
        text if text.isascii() else "".join(letter if letter.isascii() else _sign(letter) for letter in text)
    )


@lru_cache(maxsize=4096)
def _sign(letter: str) -> str:
    known = _SIGNS.get(letter) or _drawn(ord(letter))
    if known is None:
        plain = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
        known = plain or "?"
    width = cell_len(letter)
    return f"{known:?<{width}}"[:width]


def _drawn(code: int) -> str | None:
    """A piece of a curve, of a frame or of a bar."""
    if code in _BRAILLE:
        upper, lower = code & _UPPER_DOTS, code & 0xFF & ~_UPPER_DOTS
        return ":" if upper and lower else "'" if upper else "." if lower else " "
    if code in _BOXES:
        return "+"
    return "|" if code in _BLOCKS else None


ASCII_SIGNS = SegmentFilter(lambda segment: Segment(in_ascii(segment.text), segment.style))
