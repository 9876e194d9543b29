"""SLSM: the modes of giving memory notes."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from app.figures import fixed, interval, signed
from app.result_tables.layout import result_tables
from app.state.run import RunState
from app.words import method_name
from engine.events import BoardCompared

_FIGURES = (
    "n",
    "score",
    "difference",
    "95% interval",
    "notes",
    "fixed",
    "wasted",
    "broke",
    "cut",
    "no answer",
)

_NOTES = (
    "fixed: the note made a failing answer pass; broke: a passing one fail; wasted: it changed nothing",
)


def tables(state: RunState) -> list[Table]:
    """Scores of the modes, and what their notes did."""
    rows = [
        (
            method_name(row.mode), row.memory_mode, str(row.n), fixed(row.score) if row.judged else "",
            signed(row.difference), interval(row.difference_low, row.difference_high),
            *map(str, (row.injections, row.fixed, row.wasted, row.broke, row.cut, row.unanswered)),
        )
        for row in state.slsm.modes.values()
    ]  # fmt: skip
    found = result_tables("Memory notes, against no note", ["mode", "memory"], _FIGURES, rows, notes=_NOTES)
    if found and state.slsm.board is not None:
        found[0].caption = Text("\n".join([*_NOTES, *board_lines(state.slsm.board)]))
    return found


def board_lines(board: BoardCompared) -> list[str]:
    """Whether the scores are comparable with the published ones, and what is as published."""
    same = [f"{point.what} {point.here}" for point in board.points if point.same]
    return [board.sentence, f"As published: {', '.join(same) or 'nothing'}."]
