"""Texts in tables that people open with a spreadsheet, which runs a text that begins like a formula: `=cmd|…`.

Such a text gets an apostrophe in front, as one types it there. Numbers stay as they are; JSON lines and Parquet hold
every text as it is.
"""

from __future__ import annotations

from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_MARK = "'"


def cell(value: Any) -> Any:
    """`value` as a table holds it."""
    return _MARK + value if isinstance(value, str) and _is_formula(value) else value


def text_of_cell(text: str) -> str:
    """The text that a table holds as `text`."""
    return text[1:] if text.startswith(_MARK) and _is_formula(text[1:]) else text


def _is_formula(text: str) -> bool:
    if not text.startswith(_FORMULA):
        return False
    try:
        float(text.rstrip("%"))
    except ValueError:
        return True
    return False
