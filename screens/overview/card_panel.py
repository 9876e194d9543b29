"""The panel with the card of one method."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen

from app.commands import DIALOG, bindings
from screens.method_progress import progress_of
from screens.overview.card_content import card_content
from screens.overview.cards import Card, Door, move_focus
from screens.run_session import Session, shown_stages
from screens.widgets.key_line import KeyLine

_POLL_SECONDS = 0.5


class CardPanel(ModalScreen[Door.Opened]):
    """Drawn from the run's log while it is open; ends with the line that was opened."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(DIALOG), ("q", "close", "")]
    HELP = """\
# A method's card

What the method does now, what it reached beside its baseline, its curve with the baseline's (dotted) in the same scale,
and up to three places that are worth opening. `enter` on the first line opens the method, on a line with → the place.
"""
    DEFAULT_CSS = """
    CardPanel {
        align: center middle;
        & > Vertical {
            width: 96%;
            max-width: 120;
            height: auto;
            max-height: 92%;
            border: round $primary;
            background: $surface;
            & > VerticalScroll { height: auto; max-height: 100%; padding: 0 1; scrollbar-size-vertical: 1; }
        }
    }
    """

    def __init__(self, session: Session, method: str) -> None:
        super().__init__()
        self._session, self._method = session, method
        self._card = Card(method)
        self._drawn: int | None = None

    def compose(self) -> ComposeResult:
        with Vertical(), VerticalScroll(can_focus=False):
            yield self._card
        yield KeyLine()

    def on_mount(self) -> None:
        self.poll()
        self.query(Door).first().focus()
        self.set_interval(_POLL_SECONDS, self.poll)

    def poll(self) -> None:
        """Draw if anything changed."""
        self._session.update()
        if self._session.revision != self._drawn:
            self._drawn = self._session.revision
            methods = progress_of(shown_stages(self._session))
            for number, progress in enumerate(methods, 1):
                if progress.name == self._method:
                    self._card.show(card_content(number, progress, self._session.state))

    @on(Door.Opened)
    def _opened(self, message: Door.Opened) -> None:
        self.dismiss(message)

    def action_move(self, by: int) -> None:
        """To another line."""
        move_focus(self, by)

    def action_close(self) -> None:
        """Back to the digest."""
        self.dismiss()
