"""What a screen says when its worker ends with an error that nobody foresaw."""

from __future__ import annotations

from textual.screen import Screen
from textual.worker import Worker, WorkerState


class TellsWorkerErrors:
    """Part of all screens: their workers must not end the console, nor fail without a word."""

    _shown_error = ""

    def on_worker_state_changed(self, message: Worker.StateChanged) -> None:
        """Show an error until it is closed; one that comes again with every reading, once."""
        from screens.panels.error_panel import ErrorPanel, Fault  # which is such a screen itself

        error = message.worker.error
        if message.state is not WorkerState.ERROR or not isinstance(error, Exception):
            return
        if repr(error) != self._shown_error and isinstance(self, Screen):
            self._shown_error = repr(error)
            self.app.push_screen(ErrorPanel(Fault.of_error("This was not foreseen", error)))
