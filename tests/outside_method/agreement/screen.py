"""Its screen: the questions, and the files every screen of a run has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.console import RenderableType
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType

from agreement.state import AgreementState, Row
from app.commands import bindings
from app.figures import fixed
from app.state.columns import Grow
from app.state.run import RunState
from app.table.column import ListColumn
from screens.panes.files import FilesPane
from screens.panes.list_pane import ListPane
from screens.run_session import Session
from screens.tabbed_screen import TabbedScreen, tab_commands
from screens.widgets.rows import ListSource
from screens.widgets.tab_line import Tab

TABS = [Tab("questions-pane", "Questions"), Tab("files-pane", "Files")]
COLUMNS: Sequence[ListColumn[Row]] = (
    ListColumn("example", "question", 14, flex=True, name=True, value=lambda row: row.example),
    ListColumn("answer", "answer", 8, value=lambda row: row.answer),
    ListColumn("share", "share", 6, "right", value=lambda row: row.share, show=fixed),
)


def rows(state: RunState) -> Grow[Row]:
    """The rows of the run at the moment looked at."""
    own = state.others["agreement"]
    assert isinstance(own, AgreementState)
    return own.rows


class QuestionsPane(ListPane):
    """Questions and the answer that most samples gave."""

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(
            session, ListSource(COLUMNS, "questions"), "No question has been sampled yet.", id=id
        )

    def items(self, state: RunState) -> Grow[Row]:
        return rows(state)

    def draw(self, item: Any, palette: dict[str, Style], width: int) -> RenderableType:
        return Text(f"{item.answer}: {item.share:.0%} of the samples")


class AgreementScreen(TabbedScreen):
    """The screen of one run."""

    TITLE_WORD = "Agreement"
    TABS = TABS
    STAGE_TABS = {"agreement": "questions-pane"}
    BINDINGS: ClassVar[list[BindingType]] = bindings(tab_commands(TABS))
    HELP = "# Agreement\n\nHow far several samples of an answer agree."

    def panes(self) -> ComposeResult:
        yield QuestionsPane(self.session, id="questions-pane")
        yield FilesPane(self.session, id="files-pane")

    def counts(self) -> Sequence[int | None]:
        return (len(rows(self.session.state)),)
