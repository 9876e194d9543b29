"""The text of a memory note (spec SLSM, memory modes)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

HEADER = "[SLSM MEMORY NOTE]"


def structured_note(
    constraints: Iterable[tuple[str, str]], facts: Iterable[str] = (), versions: Iterable[str] = ()
) -> str:
    """A note with a section for each kind of item; "" without any item. `constraints`: (status, text); `versions`:
    edited things after their last edit."""
    sections = (
        ("Constraints:", [f"[{status}] {text}" for status, text in constraints]),
        ("User facts/preferences:", list(facts)),
        ("Latest versions:", list(versions)),
    )
    lines = [line for title, items in sections if items for line in (title, *(f"- {item}" for item in items))]
    return "\n".join((HEADER, *lines)) if lines else ""


def flat_note(memory_text: str) -> str:
    """A note with the whole memory; "" for an empty memory."""
    text = memory_text.strip()
    return f"{HEADER}\n{text}" if text else ""


def flat_text(statements: Sequence[str]) -> str:
    """Statements as one running text."""
    return " ".join(f"{statement.rstrip('.')}." for statement in statements)


def flat_statements(text: str) -> list[str]:
    """The statements of a running text, without their full stops."""
    sentences = re.split(r"(?<=[.!?。！？])\s+|\n+", text)
    return [bare for sentence in sentences if (bare := sentence.strip().rstrip(".").strip())]


def with_note(message: str, note: str) -> str:
    """A user's message with the note behind it."""
    return f"{message}\n\n{note}" if note else message
