"""The SLSM screen: its page, and a talk with the run's model."""

from __future__ import annotations

from collections.abc import Sequence

from textual.getters import query_one

from screens.method_screen import MethodScreen
from screens.panes.pane import Pane
from screens.slsm.chat import ChatPane
from screens.widgets.tab_line import Tab

TALK = Tab("talk", "Talk")


class SLSMScreen(MethodScreen):
    """The SLSM screen of one run."""

    TITLE_WORD = "SLSM"

    chat = query_one(ChatPane)

    def tab_list(self) -> Sequence[Tab]:
        return [*super().tab_list(), TALK]

    def make(self, name: str) -> Pane:
        return ChatPane(self.session, id=name) if name == TALK.id else super().make(name)

    def action_tab(self, index: int) -> None:
        """Show a tab; who chooses Talk begins to type, who comes back to it does not."""
        super().action_tab(index)
        if self.TABS[index] == TALK:
            self.chat.field.focus()
