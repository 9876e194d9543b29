"""A panel over a run's screen that draws the run's log while it is open."""

from __future__ import annotations

from screens.panels.dialog import Dialog
from screens.run_session import Session

_POLL_SECONDS = 0.5


class SessionPanel(Dialog[None]):
    """A subclass draws the session's state in `draw`."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._drawn: object = None

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
