"""The tab Picks: the demonstrations that each method picked for a held-out query, and the model's answer."""

from __future__ import annotations

from collections.abc import Sequence
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
from app.state.pool import PickRow
from app.state.run import RunState
from app.table.column import Cell, ListColumn
from engine.errors import SteerError
from engine.events import AnswerTried, SelectorPick, SelectorPicked
from screens.panes.list_pane import ListPane, telling_keys
from screens.pool.drawing import Pictures, padded
from screens.pool.queries import read_pictures, with_picture
from screens.pool.trajectories import answers_line, score_cell
from screens.run_session import Session
from screens.what_if.screen import WhatIfScreen
from screens.widgets.rows import ListSource
from screens.widgets.thumbnail import thumbnail

Palette = dict[str, Style]
_ORDER = ("selector", "rices", "random", "oracle")
_EMPTY = """There are no picks yet.

When the selector is trained, every held-out query gets a row here, with the pair that each
method picked for it, and the model's answer."""


def _against(row: PickRow) -> str:
    """▲ the selector's pick scores more than that of RICES, ▼ less."""
    return {1: "▲", 0: " ", -1: "▼"}[row.sign("selector")]


def _sign(sign: str) -> Cell:
    return Cell(sign, "good" if sign == "▲" else "bad" if sign == "▼" else "")


COLUMNS: Sequence[ListColumn[PickRow]] = (
    ListColumn("query_id", "query", 12, priority=2, name=True, value=lambda q: q.query_id),
    ListColumn("selector", "selector", 8, priority=0, value=lambda q: q.selector, show=score_cell),
    ListColumn("against", "±", 1, priority=0, help="▲ the selector scores more than RICES, ▼ less", value=_against,
               show=_sign),
    ListColumn("rices", "RICES", 8, priority=0, help="the two most similar candidates", value=lambda q: q.rices,
               show=score_cell),
    ListColumn("random", "random", 6, "right", 3, help="mean over its draws", value=lambda q: q.random,
               show=lambda v: fixed(v, 2)),
    ListColumn("oracle", "oracle", 8, priority=4, help="best known pair of the pool", value=lambda q: q.oracle,
               show=score_cell),
    ListColumn("question", "question", 16, flex=True, priority=5, value=lambda q: q.question, show=one_line),
)  # fmt: skip


class PoolPicksPane(ListPane):
    """Queries, and every method's pick for the one under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = telling_keys(
        "▲▼", "query on which the selector's pick is better or worse than that of RICES, in Picks"
    )

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(session, ListSource(COLUMNS, "picks"), _EMPTY, id=id)

    def items(self, state: RunState) -> Grow[PickRow]:
        return state.pool.picks

    def telling(self, item: PickRow) -> bool:
        return item.sign("selector") != 0

    def draw(self, item: PickRow, palette: Palette, width: int) -> RenderableType:
        try:
            event = self.session.read(*item.place)
            assert isinstance(event, SelectorPicked)
            pictures = read_pictures(self.session, [row for pick in event.picks for row in pick.pair])
        except (OSError, SteerError) as error:
            return Text(str(error), palette["bad"])
        return draw_picks(event, pictures, palette)

    def what_if(self, process: WhatIfProcess) -> WhatIfScreen[AnswerTried] | str:
        """The screen for this query with other demonstrations, or why there is none."""
        from screens.pool.what_if import DemonstrationsWhatIf, KnownPair  # only those who ask need it

        try:
            event = self.read_row()
        except (OSError, SteerError) as error:
            return str(error)
        if not isinstance(event, SelectorPicked) or not event.picks:
            return "No pick is shown."
        pairs = [
            KnownPair((p.pair[0], p.pair[1]), f"the pick of {p.method}", p.score, p.answer)
            for p in _in_order(event.picks)
        ]
        return DemonstrationsWhatIf(process, event.query_id, event.question, event.answers, pairs)


def _in_order(picks: Sequence[SelectorPick]) -> list[SelectorPick]:
    return sorted(picks, key=lambda pick: _ORDER.index(pick.method) if pick.method in _ORDER else len(_ORDER))


def draw_picks(event: SelectorPicked, pictures: Pictures, palette: Palette) -> RenderableType:
    """The question, then a block for each pick: the pair in the prompt's order, the answer, its score."""
    text = Text.assemble((clean(event.question), palette["strong"]), (f"   {event.query_id}", palette["dim"]))
    text.append("\npeople answered ", palette["dim"]).append(answers_line(event.answers))
    picks = _in_order(event.picks)
    grid = Table.grid(padding=(0, 2, 0, 0))
    for number, pick in enumerate(picks):
        again = number > 0 and picks[number - 1].method == pick.method
        name = Text("" if again else pick.method, palette["strong"])
        if number:
            grid.add_row()
        grid.add_row(name, _pair(pick, pictures), _outcome(pick, palette))
    legend = Text("rows: of the embedding table; places: in the query's pool", palette["dim"])
    return Group(with_picture(text, event.picture, pictures), Text(), grid, Text(), legend)


def _pair(pick: SelectorPick, pictures: Pictures) -> Text:
    """Pictures side by side, else rows alone."""
    drawn = [thumbnail(*pictures[row]) if row in pictures else () for row in pick.pair]
    rows = []
    for number in range(max(map(len, drawn), default=0)):
        line = Text()
        for lines in drawn:
            line.append_text(padded(lines[number] if number < len(lines) else Text(), 8)).append(" ")
        rows.append(line)
    return Text("\n").join(rows)


def _outcome(pick: SelectorPick, palette: Palette) -> Text:
    shown, tone = score_cell(pick.score)
    text = Text.assemble(
        (shown, palette.get(tone, Style.null())),
        "  the model failed" if pick.score is None else f"  {one_line(pick.answer)}",
    )
    text.append(f"\nrows {', '.join(map(str, pick.pair))}", palette["dim"])
    text.append(f"\nplaces {', '.join(map(str, pick.pointer))}", palette["dim"])
    if pick.probability is not None:
        text.append(f"\nprobability {fixed(pick.probability)}", palette["dim"])
    return text
