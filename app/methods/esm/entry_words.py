"""Names of memory entries in little room."""

from __future__ import annotations

import re

from app.blocks.fit import fit

_STEP = re.compile(r", step \d+")


def name_within(name: str, width: int) -> str:
    """A name in at most `width` cells: one that is too long goes without its step, which candidates of one decision
    share; its number stays."""
    return fit(name if len(name) <= width else _STEP.sub("", name), width)
