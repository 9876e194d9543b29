"""A tab that is one scrolling page."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.getters import query_one

from app.state.run import RunState
from screens.run_session import Session, reading_words
from screens.widgets.detail_pane import DetailPane


class PagePane(Vertical):
    """One scrolling page over the state; a subclass draws it."""

    LINKS: ClassVar[bool] = False
    """Whether the page has ids to follow."""

    page = query_one(DetailPane)

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.session = session

    def compose(self) -> ComposeResult:
        yield DetailPane()

    def draw(self, state: RunState, palette: dict[str, Style]) -> RenderableType:
        """The page."""
        raise NotImplementedError

    def show(self) -> None:
        """Draw the session's state."""
        state, reading = self.session.state, reading_words(self.session)

        def draw(palette: dict[str, Style], width: int) -> RenderableType:
            page = self.draw(state, palette)
            return Group(Text(reading, palette["warn"]), Text(), page) if reading else page

        self.page.show(draw, top=False, links=self.LINKS)

    def close_one(self) -> bool:
        """Nothing opens here."""
        return False
