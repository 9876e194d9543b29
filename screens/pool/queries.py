"""Training queries: what the pool could answer before and after, its candidates, its trajectories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from app.state.columns import Grow
from app.state.pool import PoolState, QueryRow
from app.state.run import RunState
from engine.errors import SteerError
from engine.events import PoolQueryDone, PoolThumbnails
from screens.panes.list_pane import ListPane
from screens.pool.drawing import Pictures, draw_pool
from screens.pool.trajectories import answers_line, draw_trajectories
from screens.run_session import Session
from screens.widgets.figures import fixed
from screens.widgets.model_text import clean, one_line
from screens.widgets.rows import Cell, ListColumn, ListSource
from screens.widgets.thumbnail import thumbnail

_EMPTY = """No query is finished yet.

Each training query is brought to 64 candidates, asked with pairs of the rows nearest to it, and
keeps what improves it. Then it gets a row here."""
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
               help="best score of a pair in the pool, as it came and at the end; ▲ more",
               value=lambda q: (q.before, q.after), show=_change),
    ListColumn("right", "right", 7, "right", 1, help="fully right trajectories it came with → that it ends with",
               value=lambda q: (q.right_before, q.right_after), show=_right),
    ListColumn("injected", "injected", 8, "right", 2, help="candidates injected", value=lambda q: q.injected,
               show=_count),
    ListColumn("committed", "committed", 9, "right", 3, help="mined trajectories that were committed, of all mined",
               value=lambda q: (q.committed, q.committed + q.refused), show=_of),
    ListColumn("given_pool", "pool", 4, "right", 4, help="candidates it came with; it ends with 64",
               value=lambda q: q.given_pool),
    ListColumn("failed", "failed", 6, "right", 8, help="pairs the model failed on", value=lambda q: q.failed,
               show=_count),
    ListColumn("warning", "!", 1, priority=1, help="injection did not help, or nothing fully right is known",
               value=lambda q: q.warning, show=lambda text: Cell("!" if text else " ", "warn")),
    ListColumn("question", "question", 16, flex=True, priority=7, value=lambda q: q.question, show=one_line),
)  # fmt: skip


class PoolQueriesPane(ListPane):
    """Queries, and the pool of the one under the cursor."""

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(session, ListSource(COLUMNS, "queries"), _EMPTY, id=id)

    def items(self, state: RunState) -> Grow[QueryRow]:
        return state.pool.queries

    def draw(self, item: QueryRow, palette: Palette, width: int) -> RenderableType:
        try:
            event = self.session.read(*item.place)
            assert isinstance(event, PoolQueryDone)
            pictures = read_pictures(self.session, {*event.pool_before, *event.pool_after})
        except (OSError, SteerError) as error:
            return Text(str(error), palette["bad"])
        return draw_query(event, pictures, palette, width)


def read_pictures(session: Session, rows: Iterable[int]) -> Pictures:
    """Those of `rows` that the log has told. Raises SteerError or OSError where it cannot be read."""
    state: PoolState = session.state.pool
    found: dict[int, tuple[str, int]] = {}
    for row in rows:
        if row in found or row not in state.pictures:
            continue
        event = session.read(*state.pictures[row])
        assert isinstance(event, PoolThumbnails)
        found.update((int(name), (pixels, event.width)) for name, pixels in event.pixels.items())
    return found


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


def _about(event: PoolQueryDone, palette: Palette) -> Text:
    dim = palette["dim"]
    text = Text.assemble((clean(event.question), palette["strong"]), (f"   {event.query_id}", dim))
    text.append("\npeople say ", dim).append(answers_line(event.answers))
    text.append("\noracle@64 ", dim).append(fixed(event.oracle_before, 2)).append(" as it came → ", dim)
    text.append(fixed(event.oracle_inside, 2)).append(" mined in it → ", dim)
    text.append(fixed(event.oracle_after, 2), palette["strong"]).append(" at the end", dim)
    size = len(event.pool_after)
    text.append(f"\npool {event.given_pool} → {size}", dim)
    text.append(f"   {event.cut} taken out   {event.filled} added   {event.asked} pairs asked", dim)
    if event.failed:
        text.append(f", {event.failed} failed", palette["warn"])
    for reason, count in event.dropped.items():
        text.append(f"\n{count} dropped, {clean(reason)}", dim)
    if event.warning:
        text.append(f"\n! {event.warning}", palette["warn"])
    return text
