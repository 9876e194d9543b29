"""The server's screen, live or replayed: its page under the names Server and Requests."""

from __future__ import annotations

from collections.abc import Sequence

from screens.method_screen import CASES, RESULTS, MethodScreen
from screens.widgets.tab_line import Tab


class ServeScreen(MethodScreen):
    """The server's screen of one run."""

    TITLE_WORD = "Server"

    def tab_list(self) -> Sequence[Tab]:
        return [Tab(RESULTS.id, "Server"), Tab(CASES.id, "Requests")]
