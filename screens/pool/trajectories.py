"""A query's trajectories: what it came with, what was mined, and by which rule that was committed or refused."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.state.pool import is_right
from engine.events import PoolQueryDone, PoolTrajectory
from screens.widgets.figures import NONE, fixed
from screens.widgets.model_text import one_line
from screens.widgets.rows import Cell

Palette = dict[str, Style]
OUTSIDE, RESERVE = "°", "reserve"
_WORDS = {"given": "came with the data", "committed": "mined, committed", "refused": "mined, refused"}


def score_cell(score: float | None) -> Cell:
    """✓ fully right, ◐ in part, ✗ wrong; – where the model failed."""
    if score is None:
        return Cell("–", "warn")
    if is_right(score):
        return Cell(f"✓ {fixed(score, 2)}", "good")
    return Cell(f"◐ {fixed(score, 2)}", "") if score > 0 else Cell(f"✗ {fixed(score, 2)}", "bad")


def draw_trajectories(event: PoolQueryDone, palette: Palette) -> RenderableType:
    """By verdict; in each the order of the log, which is that of the data and of mining."""
    parts: list[RenderableType] = [
        Text.assemble(("trajectories", palette["heading"]), (_legend(event), palette["dim"]))
    ]
    pool = set(event.pool_after)
    for verdict in dict.fromkeys(("given", "committed", "refused", *(t.verdict for t in event.trajectories))):
        found = [one for one in event.trajectories if one.verdict == verdict]
        if found:
            parts += [_heading(verdict, found, palette), _table(found, pool, palette), Text()]
    return Group(*parts)


def _legend(event: PoolQueryDone) -> str:
    text = f"   {OUTSIDE} not in pool"
    filled = any(one.kept and one.verdict == "refused" for one in event.trajectories)
    return f"{text}   {RESERVE}: fills a place" if filled else text


def _heading(verdict: str, found: Sequence[PoolTrajectory], palette: Palette) -> Text:
    text = Text.assemble((f"{_WORDS.get(verdict, verdict)} {len(found)}", palette["strong"]))
    if verdict != "given":
        text.append(f"   {found[0].origin}", palette["dim"])
    return text


def _table(found: Sequence[PoolTrajectory], pool: Collection[int], palette: Palette) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, min_width=6)
    table.add_column(no_wrap=True, min_width=11)
    table.add_column(no_wrap=True, min_width=4)
    table.add_column(min_width=6)
    table.add_column()
    for one in found:
        text, tone = score_cell(one.score)
        rows = Text(" ").join(_row(row, pool, palette) for row in one.pair)
        given = one.verdict == "given"
        table.add_row(
            Text(text, palette.get(tone, "")), rows, Text(_kept(one), palette["accent"]),
            one.origin if given else one.rule, Text(one.rule if given else one_line(one.answer), palette["dim"]),
        )  # fmt: skip
    return table


def _kept(one: PoolTrajectory) -> str:
    word = RESERVE if one.verdict == "refused" else "kept"
    return f"{word} {one.kept}×" if one.kept > 1 else word if one.kept else ""


def _row(row: int, pool: Collection[int], palette: Palette) -> Text:
    return Text(str(row)) if row in pool else Text(f"{row}{OUTSIDE}", palette["dim"])


def answers_line(answers: dict[str, int]) -> str:
    """What people said, the most frequent first."""
    return ", ".join(f"{one_line(answer)} {count}×" for answer, count in answers.items()) or NONE
