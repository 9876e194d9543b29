"""The tabs Results and Training: charts above a page of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container
from textual.getters import query_one

from app.blocks.block import Block, Table
from app.blocks.terminal import draw
from app.methods.page import Chart as ChartOf
from app.state.run import RunState
from screens.panes.pane import Pane
from screens.run_session import Session, reading_words
from screens.widgets.charts.chart import Chart
from screens.widgets.detail_pane import DetailPane

BlocksOf = Callable[[RunState], list[Block]]


class BlocksPane(Pane):
    """`blocks`: what stands on the page, as of a state; `empty`: said while there is nothing."""

    page = query_one(DetailPane)

    def __init__(
        self, session: Session, charts: Sequence[ChartOf], blocks: BlocksOf, empty: str, *, id: str
    ) -> None:
        super().__init__(id=id)
        self._session, self._charts, self._blocks, self._empty = session, charts, blocks, empty

    def compose(self) -> ComposeResult:
        if self._charts:
            with Container(classes="charts"):
                for number, chart in enumerate(self._charts):
                    yield Chart(chart.y, chart.x, classes="-third" if number > 1 else "")
        yield DetailPane()

    def show(self) -> None:
        """Draw the session's state."""
        state, reading = self._session.state, reading_words(self._session)
        for widget, chart in zip(self.query(Chart), self._charts, strict=True):
            widget.show_series(chart.series(state))
        self.set_class(not any(widget.series for widget in self.query(Chart)), "-empty")
        blocks = self._blocks(state)

        def drawn(palette: dict[str, Style], width: int) -> RenderableType:
            page = draw(blocks, palette, width) if blocks else Text(self._empty, palette["dim"])
            return Group(Text(reading, palette["warn"]), Text(), page) if reading else page

        self.page.show(drawn, top=False, links=True)

    def tables(self) -> list[Table]:
        """The tables of the page, for files."""
        return [block for block in self._blocks(self._session.state) if isinstance(block, Table)]
