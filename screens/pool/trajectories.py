"""A query's trajectories: from the data and mined, with the rule that committed or refused them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.blocks.model_text import one_line
from app.figures import NONE, fixed
from app.state.pool import is_right
from app.table.column import Cell
from engine.events import PoolQueryDone, PoolTrajectory

Palette = dict[str, Style]
OUTSIDE, RESERVE = "°", "reserve"
_WORDS = {"given": "from the data", "committed": "mined, committed", "refused": "mined, refused"}


def score_cell(score: float | None) -> Cell:
    """✓ fully right, ◐ in part, ✗ wrong; – where the model failed."""
    if score is None:
        return Cell("–", "warn")
    if is_right(score):
        return Cell(f"✓ {fixed(score, 2)}", "good")
    return Cell(f"◐ {fixed(score, 2)}", "") if score > 0 else Cell(f"✗ {fixed(score, 2)}", "bad")


def draw_trajectories(event: PoolQueryDone, palette: Palette) -> RenderableType:
    """The trajectories by verdict, each group in the order of the log."""
    parts: list[RenderableType] = [
        Text.assemble(("trajectories", palette["heading"]), (_legend(event), palette["dim"]))
    ]
    pool = set(event.pool_after)
    for verdict in dict.fromkeys(("committed", "given", "refused", *(t.verdict for t in event.trajectories))):
        trajectories = [t for t in event.trajectories if t.verdict == verdict]
        if trajectories:
            parts += [_heading(verdict, trajectories, palette), _table(trajectories, pool, palette), Text()]
    return Group(*parts)


def _legend(event: PoolQueryDone) -> str:
    text = f"   score, pair, whether kept, why, answer\n{OUTSIDE} not in pool"
    filled = any(t.kept and t.verdict == "refused" for t in event.trajectories)
    return f"{text}   {RESERVE}: fills a place" if filled else text


def _heading(verdict: str, trajectories: Sequence[PoolTrajectory], palette: Palette) -> Text:
    text = Text.assemble((f"{_WORDS.get(verdict, verdict)} {len(trajectories)}", palette["strong"]))
    if verdict != "given":
        text.append(f"   {trajectories[0].origin.replace('_', ' ')}", palette["dim"])
    return text


def _table(trajectories: Sequence[PoolTrajectory], pool: Collection[int], palette: Palette) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, min_width=6)
    table.add_column(no_wrap=True, min_width=11)
    table.add_column(no_wrap=True, min_width=4)
    table.add_column(min_width=6)
    table.add_column()
    for t in trajectories:
        text, tone = score_cell(t.score)
        rows = Text(" ").join(_row(row, pool, palette) for row in t.pair)
        given = t.verdict == "given"
        table.add_row(
            Text(text, palette.get(tone, "")), rows, Text(_kept(t), palette["accent"]),
            t.origin if given else t.rule, Text(t.rule if given else one_line(t.answer), palette["dim"]),
        )  # fmt: skip
    return table


def _kept(trajectory: PoolTrajectory) -> str:
    word = RESERVE if trajectory.verdict == "refused" else "kept"
    return f"{word} {trajectory.kept}×" if trajectory.kept > 1 else word if trajectory.kept else ""


def _row(row: int, pool: Collection[int], palette: Palette) -> Text:
    return Text(str(row)) if row in pool else Text(f"{row}{OUTSIDE}", palette["dim"])


def answers_line(answers: dict[str, int]) -> str:
    """The answers of people, the most frequent first."""
    return ", ".join(f"{one_line(answer)} {count}×" for answer, count in answers.items()) or NONE
