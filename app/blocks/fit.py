"""Text cut to a number of cells."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size


def fit(text: str, width: int) -> str:
    """`text`, with an ellipsis where it is too long."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"


def fit_name(text: str, width: int) -> str:
    """`text`; where it is too long, without what all names of a data set begin with (`arithmetic-`), since names
    differ in what follows it."""
    if cell_len(text) <= width:
        return text
    return fit(text.partition("-")[2] or text, width)
