"""The deltas as a heat map: a row for each cluster, a column for each iteration."""

from __future__ import annotations

from rich.color import Color
from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.getters import query_one

from app.state.evolution import EvolutionState
from app.text import counted
from screens.evolution.cluster_words import cluster_words
from screens.run_session import Session
from screens.widgets.detail_pane import DetailPane
from screens.widgets.figures import signed

_LESS, _MORE = (0, 114, 178), (213, 94, 0)  # colour-blind safe: blue discourages, orange boosts
_CELL = 6
_WORDS = 34


class DeltasPane(Vertical):
    """One scrolling page."""

    page = query_one(DetailPane)

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._session = session
        self._drawn: object = None

    def compose(self) -> ComposeResult:
        yield DetailPane()

    def show(self) -> None:
        """Draw the session's state."""
        state = self._session.state.evolution
        drawn = (tuple(state.iterations.values()), len(state.clusters))
        if drawn != self._drawn:
            self._drawn = drawn
            self.page.show(lambda palette, width: heat_map(state, palette, width), top=False)

    def close_one(self) -> bool:
        """Nothing opens here."""
        return False


def heat_map(state: EvolutionState, palette: dict[str, Style], width: int) -> RenderableType:
    """The newest iterations that fit into `width`; every cell has its number, so it reads without colour."""
    columns = [(item.iteration, item.deltas, item.best) for item in state.iterations.values() if item.deltas]
    last = next(reversed(state.iterations.values()), None)
    if last is not None and last.reply is not None and last.reply.deltas:
        columns.append((last.iteration + 1, last.reply.deltas, False))
    names = list(columns[-1][1]) if columns else list(state.clusters)
    if not names:
        text = (
            "There are no deltas yet: first the vocabulary is divided into clusters, then iterations start."
        )
        return Text(text, palette["dim"])
    words = min(_WORDS, max(10, width // 3))
    room = max(1, (width - words - 8) // (_CELL + 1))
    left_out = max(0, len(columns) - room)
    columns = columns[left_out:]
    most = max((abs(value) for _, deltas, _ in columns for value in deltas.values()), default=0.0) or 1.0
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=3, justify="right")
    grid.add_column(width=words, no_wrap=True, overflow="ellipsis")
    for _ in columns:
        grid.add_column(width=_CELL, justify="right", no_wrap=True)
    heads = [
        Text(f"{'★' if best else ''}{number}", palette["accent" if best else "heading"])
        for number, _, best in columns
    ]
    grid.add_row("", Text("most frequent tokens", palette["heading"]), *heads)
    for name in names:
        cells = [_cell(deltas.get(name, 0.0), most) for _, deltas, _ in columns]
        grid.add_row(Text(name, palette["strong"]), Text(_words(state, name), palette["dim"]), *cells)
    legend = Text.assemble(
        ("\nadded to the logits of every token of the cluster, in nats   ", palette["dim"]),
        _cell(-most, most), (" rarer  ", palette["dim"]), _cell(most, most), (" more frequent", palette["dim"]),
    )  # fmt: skip
    if left_out:
        legend.append(
            f"\n{counted(left_out, 'earlier iterations')} not shown for want of room; the files hold all",
            palette["dim"],
        )
    return Group(grid, legend)


def _words(state: EvolutionState, name: str) -> str:
    if name in ("0", "1"):
        return ("end of text", "digits and symbols")[int(name)]
    return cluster_words(state, name)


def _cell(value: float, most: float) -> Text:
    strength = min(1.0, abs(value) / most)
    end = _MORE if value > 0 else _LESS
    background = Color.from_rgb(*(round(40 + (channel - 40) * strength) for channel in end))
    style = Style(color="white", bgcolor=background) if value else Style(dim=True)
    return Text(f"{signed(value, 2):>{_CELL}}" if value else f"{'·':>{_CELL}}", style)
