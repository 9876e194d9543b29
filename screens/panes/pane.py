"""A tab's content."""

from __future__ import annotations

from textual.containers import Container

from screens.worker_errors import TellsWorkerErrors


class Pane(TellsWorkerErrors, Container):
    """What a screen with tabs asks of each of them."""

    def show(self) -> None:
        """Draw the session's state."""

    def close_one(self) -> bool:
        """Step back inside the pane; False if there was nothing to close."""
        return False
