"""A training query: its oracle before and after, its candidates, its trajectories."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from app.blocks.block import Beside, Block, Heading, Paragraph, Span, Table, Words
from app.blocks.model_text import one_line
from app.methods.cases import Cases
from app.methods.cells import turned_cell
from app.methods.pool.candidates import pool_blocks
from app.methods.pool.scores import answers_line, score_span
from app.methods.source import CaseSource
from app.state.pool import QueryRow
from app.state.run import RunState
from app.table.column import Cell, ListColumn
from app.wording.figures import fixed
from app.wording.text import counted
from engine.events import PoolQueryDone, PoolTrajectory

_EMPTY = """No query is finished yet.

The pool of each training query is brought to 64 candidates and tried with pairs of the rows nearest
to the query; the line below counts these as they are tried. Pairs that improve the pool are kept.
Then the query gets a row here."""
NOT_IN_POOL, RESERVE = "°", "reserve"
_WORDS = {"given": "from the data", "committed": "mined, committed", "refused": "mined, refused"}


def _change(oracle: tuple[float, float]) -> Cell:
    before, after = oracle
    shown = f"{fixed(before, 2)} → {fixed(after, 2)}"
    sign = turned_cell((after > before) - (after < before))
    return Cell(f"{shown} {sign.text}", sign.tone)


def _right(counts: tuple[int, int]) -> Cell:
    return Cell(f"{counts[0]} → {counts[1]}", "" if counts[1] else "bad")


def _count(number: int, of: str = "") -> Cell:
    return Cell(f"{number}{of}", "" if number else "dim")


COLUMNS: Sequence[ListColumn[QueryRow]] = (
    ListColumn("query_id", "query", 12, priority=5, name=True),
    ListColumn("oracle", "oracle@64", 13,
               help="best score of a pair in the pool, originally and at the end; ▲ better",
               value=lambda q: (q.before, q.after), show=_change),
    ListColumn("right", "right", 7, "right", 1, help="fully right trajectories originally → at the end",
               value=lambda q: (q.right_before, q.right_after), show=_right),
    ListColumn("injected", "injected", 8, "right", 2, help="candidates injected", show=_count),
    ListColumn("committed", "committed", 9, "right", 3, help="committed trajectories, of all mined ones",
               value=lambda q: (q.committed, q.committed + q.refused), show=lambda n: _count(n[0], f"/{n[1]}")),
    ListColumn("given_pool", "pool", 4, "right", 4, help="candidates originally; 64 at the end"),
    ListColumn("failed", "failed", 6, "right", 8, help="pairs on which the model failed", show=_count),
    ListColumn("warning", "!", 1, priority=1, help="injection did not help, or no fully right pair is known",
               show=lambda text: Cell("!" if text else " ", "warn")),
    ListColumn("question", "question", 16, flex=True, priority=7, show=one_line),
)  # fmt: skip


def _remark(state: RunState) -> str:
    pool = state.pool
    improved = f"{sum(query.after > query.before for query in pool.queries):,} improved ▲"
    tried = sum(map(len, pool.under_way.values()))
    if not tried:
        return improved
    return f"{improved}  │  {counted(tried, 'pairs')} tried on {', '.join(list(pool.under_way)[-3:])}"


def query_blocks(event: PoolQueryDone, source: CaseSource) -> list[Block]:
    """Question, pool, trajectories."""
    about = [Paragraph(words) for words in _about(event)]
    return [*about, Beside(pool_blocks(event), _trajectories(event), least=128)]


def _about(event: PoolQueryDone) -> list[Words]:
    size = len(event.pool_after)
    asked = f"{event.cut} removed   {event.filled} added   {counted(event.asked, 'pairs')} asked"
    lines: list[Words] = [
        (Span(event.question, "strong"), Span(f"   {event.query_id}", "dim")),
        (Span("people answered ", "dim"), answers_line(event.answers)),
        (
            Span("best pair (oracle@64) ", "dim"), fixed(event.oracle_before, 2), Span(" → ", "dim"),
            Span(fixed(event.oracle_after, 2), "strong"), Span(" at the end", "dim"),
        ),
        *_committed(event),
        (
            Span(f"pool {event.given_pool} → {size}   {asked}", "dim"),
            Span(f", {event.failed} failed" if event.failed else "", "warn"),
        ),
    ]  # fmt: skip
    lines += [Span(f"{count} dropped, {reason}", "dim") for reason, count in event.dropped.items()]
    return [*lines, Span(f"! {event.warning}", "warn")] if event.warning else lines


def _committed(event: PoolQueryDone) -> list[Words]:
    """A line for each demonstration pair that was committed: what it is, what the model answered, what it improved."""
    lines: list[Words] = []
    best = max((t.score or 0.0 for t in event.trajectories if t.verdict == "given"), default=0.0)
    for t in (t for t in event.trajectories if t.verdict == "committed"):
        better = (t.score or 0.0) > best
        why = f"▲ best before {fixed(best, 2)}" if better else f"a new score; best before {fixed(best, 2)}"
        pair = Span(" + ".join(map(str, t.pair)), "strong")
        answered = f" answered {one_line(t.answer)}"
        why_span = Span(f"  {why}", "good" if better else "dim")
        lines.append((Span("committed ", "dim"), pair, "  ", score_span(t.score), answered, why_span))
        best = max(best, t.score or 0.0)
    return lines


def _trajectories(event: PoolQueryDone) -> list[Block]:
    """The trajectories by verdict, each group in the order of the log."""
    pool, blocks = set(event.pool_after), list[Block]()
    for verdict in dict.fromkeys(("committed", "given", "refused", *(t.verdict for t in event.trajectories))):
        trajectories = [t for t in event.trajectories if t.verdict == verdict]
        if trajectories:
            blocks.append(_table(verdict, trajectories, pool))
    filled = any(t.kept and t.verdict == "refused" for t in event.trajectories)
    legend = f"{NOT_IN_POOL} not in the pool" + (f"   {RESERVE}: fills a place" if filled else "")
    return [Heading("trajectories", 4), *blocks, Paragraph(legend, "dim")]


def _table(verdict: str, trajectories: Sequence[PoolTrajectory], pool: Collection[int]) -> Table:
    origin = "" if verdict == "given" else f"   {trajectories[0].origin.replace('_', ' ')}"
    rows: list[Sequence[Words]] = [
        (
            score_span(t.score), " ".join(f"{row}" + NOT_IN_POOL * (row not in pool) for row in t.pair),
            Span(_kept(t), "accent"), t.origin if verdict == "given" else t.rule,
            Span(t.rule if verdict == "given" else one_line(t.answer), "dim"),
        )
        for t in trajectories
    ]  # fmt: skip
    last = ("origin", "") if verdict == "given" else ("rule", "answer")
    header = ("score", "pair", "kept", *last)
    return Table(header, rows, caption=f"{_WORDS.get(verdict, verdict)} {len(trajectories)}{origin}")


def _kept(trajectory: PoolTrajectory) -> str:
    word = RESERVE if trajectory.verdict == "refused" else "kept"
    return f"{word} {trajectory.kept}×" if trajectory.kept > 1 else word if trajectory.kept else ""


QUERIES: Cases[QueryRow] = Cases(
    name="queries",
    columns=COLUMNS,
    rows=lambda state: state.pool.queries,
    event=PoolQueryDone,
    words=lambda event: f"query {event.query_id}",
    draw=query_blocks,
    empty=_EMPTY,
    notable=lambda state, row: row.after > row.before,
    notable_words="query with a better pair than its original data had",
    remark=_remark,
)
