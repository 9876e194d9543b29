"""The tab Queries: the oracle before and after, the candidates, the trajectories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual.binding import BindingType

from app.blocks.model_text import clean, one_line
from app.figures import fixed
from app.runs.what_if import WhatIfProcess
from app.state.columns import Grow
from app.state.pool import PoolState, QueryRow
from app.state.run import RunState
from app.table.column import Cell, ListColumn
from app.text import counted
from engine.errors import SteerError
from engine.events import AnswerTried, PoolQueryDone, PoolThumbnails
from screens.panes.list_pane import ListPane, telling_keys
from screens.pool.drawing import Pictures, draw_pool
from screens.pool.trajectories import answers_line, draw_trajectories, score_cell
from screens.run_session import Session
from screens.what_if.screen import WhatIfScreen
from screens.widgets.rows import ListSource
from screens.widgets.thumbnail import thumbnail

_EMPTY = """No query is finished yet.

The pool of each training query is brought to 64 candidates and tried with pairs of the rows nearest
to the query; the line below counts these as they are tried. Pairs that improve the pool are kept.
Then the query gets a row here."""
WITH_PICTURES, SIDE_BY_SIDE = 84, 128
"""Columns from which candidates are drawn, and from which pool and trajectories stand beside each other."""
_POOL = 76
Palette = dict[str, Style]


def _change(oracle: tuple[float, float]) -> Cell:
    before, after = oracle
    shown = f"{fixed(before, 2)} → {fixed(after, 2)}"
    if after > before:
        return Cell(f"{shown} ▲", "good")
    return Cell(f"{shown} ▼", "bad") if after < before else Cell(f"{shown}  ")


def _right(counts: tuple[int, int]) -> Cell:
    return Cell(f"{counts[0]} → {counts[1]}", "" if counts[1] else "bad")


def _count(number: int) -> Cell:
    return Cell(str(number), "" if number else "dim")


def _of(counts: tuple[int, int]) -> Cell:
    return Cell(f"{counts[0]}/{counts[1]}", "" if counts[0] else "dim")


COLUMNS: Sequence[ListColumn[QueryRow]] = (
    ListColumn("query_id", "query", 12, priority=5, name=True, value=lambda q: q.query_id),
    ListColumn("oracle", "oracle@64", 13, priority=0,
               help="best score of a pair in the pool, originally and at the end; ▲ better",
               value=lambda q: (q.before, q.after), show=_change),
    ListColumn("right", "right", 7, "right", 1, help="fully right trajectories originally → at the end",
               value=lambda q: (q.right_before, q.right_after), show=_right),
    ListColumn("injected", "injected", 8, "right", 2, help="candidates injected", value=lambda q: q.injected,
               show=_count),
    ListColumn("committed", "committed", 9, "right", 3, help="committed trajectories, of all mined ones",
               value=lambda q: (q.committed, q.committed + q.refused), show=_of),
    ListColumn("given_pool", "pool", 4, "right", 4, help="candidates originally; 64 at the end",
               value=lambda q: q.given_pool),
    ListColumn("failed", "failed", 6, "right", 8, help="pairs on which the model failed", value=lambda q: q.failed,
               show=_count),
    ListColumn("warning", "!", 1, priority=1, help="injection did not help, or no fully right pair is known",
               value=lambda q: q.warning, show=lambda text: Cell("!" if text else " ", "warn")),
    ListColumn("question", "question", 16, flex=True, priority=7, value=lambda q: q.question, show=one_line),
)  # fmt: skip


class PoolQueriesPane(ListPane):
    """Queries, and the pool of the one under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = telling_keys(
        "improved", "query with a better pair than its original data had, in Queries"
    )

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(session, ListSource(COLUMNS, "queries"), _EMPTY, id=id)

    def items(self, state: RunState) -> Grow[QueryRow]:
        return state.pool.queries

    def telling(self, item: QueryRow) -> bool:
        return item.after > item.before

    def remark(self) -> str:
        pool = self.session.state.pool
        improved = f"{sum(self.telling(query) for query in pool.queries):,} improved ▲"
        tried = sum(map(len, pool.under_way.values()))
        if not tried:
            return improved
        return f"{improved}  │  {counted(tried, 'pairs')} tried on {', '.join(list(pool.under_way)[-3:])}"

    def draw(self, item: QueryRow, palette: Palette, width: int) -> RenderableType:
        try:
            event = self.session.read(*item.place)
            assert isinstance(event, PoolQueryDone)
            pictures = read_pictures(self.session, {*event.pool_before, *event.pool_after})
        except (OSError, SteerError) as error:
            return Text(str(error), palette["bad"])
        return draw_query(event, pictures, palette, width)

    def what_if(self, process: WhatIfProcess) -> WhatIfScreen[AnswerTried] | str:
        """The screen for this query with other demonstrations, or why there is none."""
        from screens.pool.what_if import DemonstrationsWhatIf, KnownPair  # only those who ask need it

        try:
            event = self.read_row()
        except (OSError, SteerError) as error:
            return str(error)
        if not isinstance(event, PoolQueryDone):
            return "No query is shown."
        asked = [t for t in event.trajectories if t.verdict != "given"] or event.trajectories
        best = max(asked, key=lambda t: -1.0 if t.score is None else t.score)
        others = [t for t in event.trajectories if t is not best]
        pairs = [KnownPair(t.pair, t.rule or t.verdict, t.score, t.answer) for t in (best, *others)]
        return DemonstrationsWhatIf(process, event.query_id, event.question, event.answers, pairs)


def read_pictures(session: Session, rows: Iterable[int]) -> Pictures:
    """The pictures of those `rows` that the log has. Raises SteerError or OSError where it cannot be read."""
    state: PoolState = session.state.pool
    pictures: dict[int, tuple[str, int]] = {}
    for row in rows:
        if row in pictures or row not in state.pictures:
            continue
        event = session.read(*state.pictures[row])
        assert isinstance(event, PoolThumbnails)
        pictures.update((int(name), (pixels, event.width)) for name, pixels in event.pixels.items())
    return pictures


def draw_query(event: PoolQueryDone, pictures: Pictures, palette: Palette, width: int) -> RenderableType:
    """Question, pool, trajectories."""
    head = with_picture(_about(event, palette), event.picture, pictures)
    shown = pictures if width >= WITH_PICTURES else {}
    if width < SIDE_BY_SIDE:
        pool = draw_pool(event, shown, palette, width)
        return Group(head, Text(), pool, Text(), draw_trajectories(event, palette))
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=_POOL)
    grid.add_column(width=width - _POOL - 2)
    grid.add_row(draw_pool(event, shown, palette, _POOL), draw_trajectories(event, palette))
    return Group(head, Text(), grid)


def with_picture(text: Text, picture: str, pictures: Pictures) -> RenderableType:
    """`text` beside the query's own picture, which is as wide as the candidates'."""
    if not picture or not pictures:
        return text
    _, pixels = next(iter(pictures.values()))
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_row(Text("\n").join(thumbnail(picture, pixels)), text)
    return grid


def _committed(event: PoolQueryDone, palette: Palette) -> Text:
    """A line for each demonstration pair that was committed: what it is, what the model answered, what it improved."""
    text = Text()
    best = max((t.score or 0.0 for t in event.trajectories if t.verdict == "given"), default=0.0)
    for t in (t for t in event.trajectories if t.verdict == "committed"):
        shown, tone = score_cell(t.score)
        text.append("\ncommitted ", palette["dim"]).append(" + ".join(map(str, t.pair)), palette["strong"])
        text.append("  ").append(shown, palette.get(tone, "")).append(f" answered {one_line(t.answer)}")
        better = (t.score or 0.0) > best
        why = f"▲ best before {fixed(best, 2)}" if better else f"a new score; best before {fixed(best, 2)}"
        text.append(f"  {why}", palette["good" if better else "dim"])
        best = max(best, t.score or 0.0)
    return text


def _about(event: PoolQueryDone, palette: Palette) -> Text:
    dim = palette["dim"]
    text = Text.assemble((clean(event.question), palette["strong"]), (f"   {event.query_id}", dim))
    text.append("\npeople answered ", dim).append(answers_line(event.answers))
    text.append("\nbest pair (oracle@64) ", dim).append(fixed(event.oracle_before, 2)).append(" → ", dim)
    text.append(fixed(event.oracle_inside, 2)).append(" with mined pairs → ", dim)
    text.append(fixed(event.oracle_after, 2), palette["strong"]).append(" at the end", dim)
    text.append_text(_committed(event, palette))
    size = len(event.pool_after)
    text.append(f"\npool {event.given_pool} → {size}", dim)
    text.append(f"   {event.cut} removed   {event.filled} added   {counted(event.asked, 'pairs')} asked", dim)
    if event.failed:
        text.append(f", {event.failed} failed", palette["warn"])
    for reason, count in event.dropped.items():
        text.append(f"\n{count} dropped, {clean(reason)}", dim)
    if event.warning:
        text.append(f"\n! {event.warning}", palette["warn"])
    return text
