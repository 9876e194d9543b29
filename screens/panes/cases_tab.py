"""The tab Cases: all kinds of a method's cases, one kind at a time."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.getters import query_one
from textual.widget import Widget
from textual.widgets import ContentSwitcher

from screens.widgets.tab_line import Tab, TabLine

_NEXT_KIND = "1 the next kind"


class CasesTab(Vertical):
    """All kinds of a method's cases, one at a time; a line names them where there are several."""

    DEFAULT_CSS = """
    CasesTab > ContentSwitcher { height: 1fr; }
    """
    switcher = query_one(ContentSwitcher)

    def __init__(self, panes: Sequence[Widget], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._panes = panes

    def compose(self) -> ComposeResult:
        if len(self._panes) > 1:
            yield TabLine([Tab(name, name.capitalize()) for name in self.names], hint=_NEXT_KIND)
        with ContentSwitcher(initial=self.names[0]):
            yield from self._panes

    @property
    def names(self) -> list[str]:
        """The kinds."""
        return [str(pane.id) for pane in self._panes]

    @property
    def shown_name(self) -> str:
        """The kind that is shown."""
        return self.switcher.current or self.names[0]

    @property
    def shown(self) -> Widget:
        """Its pane."""
        return self._panes[self.names.index(self.shown_name)]

    def choose(self, name: str) -> None:
        """Show a kind."""
        self.switcher.current = name
        for line in self.query(TabLine):
            line.active = self.names.index(name)

    @property
    def next_name(self) -> str:
        """The kind after the one that is shown."""
        return self.names[(self.names.index(self.shown_name) + 1) % len(self._panes)]
