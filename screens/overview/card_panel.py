"""The panel with the card of one method."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll

from app.keys.commands import DIALOG, bindings
from screens.messages import SystemRequested
from screens.method_progress import progress_of
from screens.overview.card_content import card_content
from screens.overview.cards import Card, PlaceLink, move_focus
from screens.panels.session_panel import SessionPanel
from screens.run_session import Session, shown_stages


class CardPanel(SessionPanel):
    """Drawn from the run's log while it is open; ends with the line that is opened."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(DIALOG), ("q", "close", "")]
    HELP = """\
# A method's card

What the method does now, what it reached beside its baseline, its curve with the baseline's (dotted) in the same scale,
and up to three places that are worth opening. `enter` on the first line opens the method, on a line with → the place.
"""

    def __init__(self, session: Session, method: str) -> None:
        super().__init__(session)
        self._method = method
        self._card = Card(method)

    def contents(self) -> ComposeResult:
        yield self._card

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(VerticalScroll).can_focus = False
        self.query(PlaceLink).first().focus()

    def draw(self, session: Session) -> None:
        for number, progress in enumerate(progress_of(shown_stages(session)), 1):
            if progress.name == self._method:
                self._card.show(card_content(number, progress, session.state))

    @on(PlaceLink.Opened)
    def _opened(self, message: PlaceLink.Opened) -> None:
        self.dismiss()
        self.app.post_message(SystemRequested(message.method, message.place))

    def action_move(self, by: int) -> None:
        """To another line."""
        move_focus(self, by)
