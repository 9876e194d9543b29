"""The tab Cases: for each kind a table with the case under the cursor in full, one kind at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.console import RenderableType
from rich.style import Style
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.getters import query_one
from textual.message import Message
from textual.widget import Widget
from textual.widgets import ContentSwitcher

from app.blocks.terminal import draw
from app.methods.page import Cases
from app.methods.source import CaseSource
from app.runs.what_if import WhatIfProcess
from app.state.columns import Grow
from app.state.run import RunState
from engine.errors import SteerError
from screens.panes.list_pane import ListPane
from screens.run_session import Session
from screens.what_if.of_event import what_if_screen
from screens.what_if.screen import WhatIfScreen
from screens.widgets.rows import ItemSource, ListSource
from screens.widgets.tab_line import Tab, TabLine

_NEXT_KIND = "1 the next kind"


class CasesPane(ListPane):
    """The cases of one kind."""

    LINKS = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "differ(1)", "Next notable", tooltip="Go to the next case worth seeing."),
        Binding("D", "differ(-1)", "Previous notable", show=False, tooltip="Go to the previous case worth seeing."),
        Binding("left_parenthesis", "step(-1)", "Steps", key_display="( )", tooltip="The case one step earlier."),
        Binding("left", "beside(-1)", "Others", key_display="← →", tooltip="In an opened case: the case before it."),
        Binding("right", "beside(1)", "After", show=False, tooltip="In an opened case: the case after it."),
        Binding("right_parenthesis", "step(1)", "Later", show=False, tooltip="The case one step later."),
    ]  # fmt: skip

    def __init__(
        self,
        session: Session,
        cases: Cases[Any],
        source: ItemSource[Any] | None = None,
        *,
        id: str | None = None,
    ) -> None:
        source = ListSource(cases.columns, cases.name) if source is None else source
        super().__init__(session, source, cases.empty, id=id)
        self.cases = cases
        self.order = cases.order
        self._step: int | None = None
        self._step_of: object = None

    def items(self, state: RunState) -> Sequence[Any] | Grow[Any]:
        return self.cases.rows(state)

    def telling(self, item: Any) -> bool:
        return self.cases.notable(self.session.state, item)

    def remark(self) -> str:
        return self.cases.remark(self.session.state)

    def key(self, item: Any) -> object:
        if self.place(item) != self._step_of:
            self._step_of, self._step = self.place(item), None
        return item, self._step

    def draw(self, item: Any, palette: dict[str, Style], width: int) -> RenderableType:
        try:
            event = self.session.read(*self.place(item))
        except (OSError, SteerError) as error:
            return Text(str(error), palette["bad"])
        source = CaseSource(self.session.run_dir, self.session.state, self.session.read, self._step)
        return draw(self.cases.draw(event, source), palette, width)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "step":
            return self.cases.steps is not None
        if action == "beside":  # the table moves by itself
            return self.has_class("-open")
        return bool(self.cases.notable_words) if action == "differ" else True

    def action_differ(self, by: int) -> None:
        """Go to the next or previous case worth seeing."""
        if not self.table.seek(by, lambda row: self.telling(self.source.item(row))):
            self.notify(f"There is no {self.cases.notable_words}", markup=False)

    def action_beside(self, by: int) -> None:
        """The case in the row before or after."""
        self.table.go_to(self.table.cursor + by)

    def action_step(self, by: int) -> None:
        """The case a step earlier or later."""
        item = self.under_cursor()
        if item is None or self.cases.steps is None:
            return
        last = max(0, self.cases.steps(item) - 1)
        self._step = min(max((last if self._step is None else self._step) + by, 0), last)
        self.show()

    def what_if(self, process: WhatIfProcess) -> WhatIfScreen[Any] | str:
        """The screen for another choice in this case, or why there is none."""
        try:
            event = self.read_row()
        except (OSError, SteerError) as error:
            return str(error)
        if event is None:
            return "No case is shown."
        source = CaseSource(self.session.run_dir, self.session.state, self.session.read, self._step)
        return what_if_screen(process, event, source)


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

    @on(TabLine.Chosen)
    def _clicked(self, message: TabLine.Chosen) -> None:
        message.stop()
        self.post_message(self.KindWanted(self.names[message.index]))

    @dataclass
    class KindWanted(Message):
        """Another kind is to be shown."""

        name: str
