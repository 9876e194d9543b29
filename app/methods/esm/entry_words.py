"""What memory entries are called, everywhere on the screen and in documents."""

from __future__ import annotations

from app.blocks.fit import fit_name


def entry_words(entry: str, width: int = 0) -> str:
    """An entry by its id, in at most `width` cells; 0: in as many as it takes."""
    return fit_name(entry, width) if width else entry
