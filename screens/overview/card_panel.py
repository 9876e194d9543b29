"""The panel with the card of one method."""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll

from app.keys.commands import DIALOG, bindings
from app.methods.overview import Highlight
from screens.messages import SystemRequested
from screens.method_progress import progress_of
from screens.overview.card_content import card_content
from screens.overview.cards import Card
from screens.panels.session_panel import SessionPanel
from screens.run_session import Session, shown_stages
from screens.widgets.line_list import LineList


class CardPanel(SessionPanel):
    """Drawn from the run's log while it is open; ends with the line that is opened."""

    BINDINGS = [*bindings(DIALOG), ("q", "close", "")]

    def __init__(self, session: Session, method: str) -> None:
        super().__init__(session)
        self._method = method
        self._card, self._lines = Card(), LineList()
        self._places: tuple[Highlight, ...] = ()

    def contents(self) -> ComposeResult:
        yield self._card
        yield self._lines

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(VerticalScroll).can_focus = False
        self._lines.focus()

    def draw(self, session: Session) -> None:
        for number, progress in enumerate(progress_of(shown_stages(session)), 1):
            if progress.name == self._method:
                content = card_content(number, progress, session.state)
                self._card.show(self._method, content)
                self._places = content.highlights
                words = [f"open {self._method}", *(place.text for place in self._places)]
                self._lines.show([Text(f"→ {line}") for line in words], self._lines.highlighted or 0)

    @on(LineList.OptionSelected)
    def _opened(self, message: LineList.OptionSelected) -> None:
        self.dismiss()
        place = self._places[message.option_index - 1].place if message.option_index else None
        self.app.post_message(SystemRequested(self._method, place))
