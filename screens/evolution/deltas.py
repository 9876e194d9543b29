"""The deltas as a heat map: a row for each cluster, a column for each iteration."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.getters import query_one

from app.figures import signed
from app.state.evolution import EvolutionState
from app.text import counted
from screens.evolution.cluster_words import cluster_words
from screens.evolution.iteration_drawing import composite_words
from screens.run_session import Session
from screens.widgets.detail_pane import DetailPane

_CELL = 6
_WORDS = 34
_LEVELS = "▁▂▃▄▅▆▇█"


class DeltasPane(Vertical):
    """One page that scrolls both ways: rows as every page, iterations by the arrows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "left,h", "earlier(1)", "Earlier", key_display="←→", tooltip="In Deltas: show earlier iterations."
        ),
        Binding("right,l", "earlier(-1)", "Later", show=False, tooltip="In Deltas: show later iterations."),
    ]

    page = query_one(DetailPane)

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._session = session
        self._drawn: object = None
        self._back = 0

    def compose(self) -> ComposeResult:
        yield DetailPane()

    def show(self) -> None:
        """Draw the session's state."""
        state = self._session.state.evolution
        drawn = (tuple(state.iterations.values()), len(state.clusters), self._back)
        if drawn != self._drawn:
            self._drawn = drawn
            self.page.show(lambda palette, width: heat_map(state, palette, width, self._back), top=False)

    def action_earlier(self, by: int) -> None:
        """Scroll by iterations."""
        width = self.page.scrollable_content_region.width
        columns = len(_columns(self._session.state.evolution))
        self._back = max(0, min(self._back + by, columns - room_for(width)))
        self.show()

    def close_one(self) -> bool:
        """Nothing opens here."""
        return False


def room_for(width: int) -> int:
    """Iterations that have room in `width` columns."""
    return max(1, (width - _words_width(width) - 8) // (_CELL + 1))


def _words_width(width: int) -> int:
    return min(_WORDS, max(10, width // 3))


def _columns(state: EvolutionState) -> list[tuple[int, dict[str, float], bool]]:
    """Each iteration's number, deltas, and whether it was kept as best; the reflector's next deltas, too."""
    columns = [(item.iteration, item.deltas, item.best) for item in state.iterations.values() if item.deltas]
    last = next(reversed(state.iterations.values()), None)
    if last is not None and last.reply is not None and last.reply.deltas:
        columns.append((last.iteration + 1, last.reply.deltas, False))
    return columns


def heat_map(state: EvolutionState, palette: dict[str, Style], width: int, back: int = 0) -> RenderableType:
    """The iterations that fit into `width`, `back` before the newest ones. Every cell has its number and a block as
    high as the delta is strong, so that it reads in any number of colours."""
    every = _columns(state)
    names = list(every[-1][1]) if every else list(state.clusters)
    if not names:
        text = (
            "There are no deltas yet: first the vocabulary is divided into clusters, then iterations start."
        )
        return Text(text, palette["dim"])
    last = len(every) - back
    columns = every[max(0, last - room_for(width)) : last]
    most = max((abs(value) for _, deltas, _ in every for value in deltas.values()), default=0.0) or 1.0
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=3, justify="right")
    grid.add_column(width=_words_width(width), no_wrap=True, overflow="ellipsis")
    for _ in columns:
        grid.add_column(width=_CELL, justify="right", no_wrap=True)
    heads = [
        Text(f"{'★' if best else ''}{number} ", palette["accent" if best else "heading"])
        for number, _, best in columns
    ]
    grid.add_row("", Text("most frequent tokens", palette["heading"]), *heads)
    for name in names:
        cells = [_cell(deltas.get(name, 0.0), most, palette) for _, deltas, _ in columns]
        grid.add_row(Text(name, palette["strong"]), Text(cluster_words(state, name), palette["dim"]), *cells)
    return Group(grid, *_legend(state, every, columns, most, palette))


def _legend(
    state: EvolutionState, every: list, columns: list, most: float, palette: dict[str, Style]
) -> list[Text]:
    about = Text.assemble(
        ("\nadded to the logits of every token of the cluster, in nats\n", palette["dim"]),
        _cell(-most, most, palette), ("  the tokens become rarer   ", palette["dim"]),
        _cell(most, most, palette), ("  more frequent", palette["dim"]),
    )  # fmt: skip
    if state.began is not None:
        about.append(f"\n★ a new best: the highest composite so far on {state.decided_on}\n", palette["dim"])
        about.append(composite_words(state.began), palette["dim"])
    if len(columns) == len(every):
        return [about]
    shown = f"iterations {columns[0][0]} to {columns[-1][0]} of {counted(len(every), 'iterations')}"
    return [about, Text(f"{shown}: ← → show others", palette["dim"])]


def _cell(value: float, most: float, palette: dict[str, Style]) -> Text:
    if not value:
        return Text(f"{'·':>{_CELL - 1}} ", palette["dim"])
    strength = min(1.0, abs(value) / most)
    level = _LEVELS[min(len(_LEVELS) - 1, int(strength * len(_LEVELS)))]
    return Text(f"{signed(value, 2)}{level}", palette["good" if value > 0 else "bad"])
