"""What a screen or pane says when its worker ends with an error that nobody foresaw."""

from __future__ import annotations

from textual.message_pump import MessagePump
from textual.worker import Worker, WorkerState

from screens.messages import ErrorUnforeseen


class TellsWorkerErrors:
    """Part of all screens and panes: their workers must not end the console, nor fail without a word."""

    _error_shown = ""

    def on_worker_state_changed(self, message: Worker.StateChanged) -> None:
        """Tell the console of an error; of one that comes again with every reading, once."""
        error = message.worker.error
        if message.state is not WorkerState.ERROR or not isinstance(error, Exception):
            return
        if repr(error) != self._error_shown and isinstance(self, MessagePump):
            self._error_shown = repr(error)
            self.post_message(ErrorUnforeseen(error))
