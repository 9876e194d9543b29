"""Texts inside of what JSON holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def changed_texts(value: Any, change: Callable[[str], str]) -> Any:
    """`value` with `change` of each text in it, also in lists, and of names and values in objects."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [changed_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {changed_texts(name, change): changed_texts(item, change) for name, item in value.items()}
    return value


def whole(text: str) -> str:
    """`text` without the halves of letters that JSON can spell and no file can hold; "?" for each."""
    return text.encode(errors="replace").decode()
