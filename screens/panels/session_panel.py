"""A panel over a run's screen that draws the run's log while it is open."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from textual.app import ComposeResult
from textual.widgets import Static

from app.blocks.block import Block
from app.blocks.terminal import draw
from screens.panels.dialog import Dialog
from screens.run_session import Session

_POLL_SECONDS = 0.5
_PALETTE = {"dim": Style(dim=True)} | dict.fromkeys(
    ("strong", "heading", "good", "bad", "accent", "warn"), Style(bold=True)
)


class SessionPanel(Dialog[None]):
    """`CONTENTS`: ids of what a subclass draws into, one below another."""

    CONTENTS: tuple[str, ...] = ()

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._drawn: object = None

    def contents(self) -> ComposeResult:
        for name in self.CONTENTS:
            yield Static(id=name, markup=False)

    def on_mount(self) -> None:
        self.set_interval(_POLL_SECONDS, self.poll)
        self.poll()

    def on_resize(self) -> None:
        self._drawn = None

    def poll(self) -> None:
        """Draw if anything changed."""
        self._session.update()
        if self._session.revision != self._drawn:
            self._drawn = self._session.revision
            self.draw(self._session)

    def draw(self, session: Session) -> None:
        """Draw the session's state."""


class BlocksPanel(SessionPanel):
    """A panel of blocks, one below another."""

    CONTENTS = ("blocks",)

    def draw(self, session: Session) -> None:
        width = self.query_one("#blocks").content_size.width or self.size.width
        self.query_one("#blocks", Static).update(draw(self.blocks(session, width), _PALETTE, width))

    def blocks(self, session: Session, width: int) -> Sequence[Block]:
        """What to draw in `width` columns."""
        raise NotImplementedError
