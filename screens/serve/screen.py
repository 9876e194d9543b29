"""The server's screen, live or replayed: how busy it is, and its requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from app.commands import bindings
from screens.panes.files import FilesPane
from screens.serve.page import ServerPane
from screens.serve.requests import RequestsPane
from screens.tabbed_screen import STYLES, TabbedScreen, tab_commands
from screens.widgets.tab_line import Tab

TABS = [
    Tab("server-pane", "Server"),
    Tab("requests-pane", "Requests"),
    Tab("serve-files-pane", "Files"),
]


class ServeScreen(TabbedScreen):
    """The server's screen of one run."""

    CSS_PATH = [STYLES, "screen.tcss"]
    TITLE_WORD = "Server"
    TABS = TABS
    STAGE_TABS = {"serve": "server-pane"}
    BINDINGS: ClassVar[list[BindingType]] = bindings(tab_commands(TABS))
    HELP = """\
# The steered server

Programs ask the model here as they would ask OpenAI's, and the levers that the run found act on every answer.

*Server* has the address, the file with the key, a command to try, how busy the server is, and the levers: those that
are *always* used unless a request says otherwise, those that a request may ask for, and why the others do not fit.
*Requests* has a row for each request that has ended: its answer, how many segments were steered, and a sentence for
each lever. The screen *ESM* of the same run shows every decision while it is taken, with the question beside it.

A pause lets all requests wait; a stop ends the server, and whoever waits is told. Resuming the run opens it again at
the same address, with the same key.
"""

    def panes(self) -> ComposeResult:
        yield ServerPane(self.session, id="server-pane")
        yield RequestsPane(self.session, id="requests-pane")
        yield FilesPane(self.session, id="serve-files-pane")

    def counts(self) -> Sequence[int | None]:
        return None, len(self.session.state.serve.ended)
