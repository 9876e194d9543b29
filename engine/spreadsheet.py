"""Texts in tables that people open with a spreadsheet, which runs a text that begins like a formula: `=cmd|…`.

Such a text gets an apostrophe in front, as one types it there, and so does one that has such apostrophes already: each
is read back as it was. Numbers stay as they are; JSON lines and Parquet hold every text as it is.
"""

from __future__ import annotations

from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_MARK = "'"


def cell(value: Any) -> Any:
    """`value` as a table holds it. A carriage return becomes an end of line: `csv` does not quote one where lines end
    otherwise, and it would begin a new row."""
    if not isinstance(value, str):
        return value
    marked = _MARK + value if _is_formula(value) else value
    return marked.replace("\r\n", "\n").replace("\r", "\n")


def text_of_cell(text: str) -> str:
    """The text that a table holds as `text`, but for its ends of lines."""
    return text[1:] if text.startswith(_MARK) and _is_formula(text[1:]) else text


def _is_formula(text: str) -> bool:
    """Whether a spreadsheet would run it, whatever marks stand before it."""
    text = text.lstrip(_MARK)
    if not text.startswith(_FORMULA):
        return False
    try:
        float(text.rstrip("%"))
    except ValueError:
        return True
    return False
