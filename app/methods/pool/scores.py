"""How scores and answers of the pool are written."""

from __future__ import annotations

from app.blocks.block import Span
from app.blocks.model_text import one_line
from app.state.pool import is_right
from app.table.column import Cell
from app.wording.figures import NONE, fixed


def score_cell(score: float | None) -> Cell:
    """✓ fully right, ◐ in part, ✗ wrong; – where the model failed."""
    if score is None:
        return Cell("–", "warn")
    if is_right(score):
        return Cell(f"✓ {fixed(score, 2)}", "good")
    return Cell(f"◐ {fixed(score, 2)}") if score > 0 else Cell(f"✗ {fixed(score, 2)}", "bad")


def score_span(score: float | None) -> Span:
    """The same in a line."""
    return Span(*score_cell(score))


def answers_line(answers: dict[str, int]) -> str:
    """`9× "7", 1× "1"`: the answers of people, the most frequent first."""
    return ", ".join(f'{count}× "{one_line(answer)}"' for answer, count in answers.items()) or NONE
