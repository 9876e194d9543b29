"""The screen of a method, live or replayed: its cases, its results and its training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widget import Widget

from app.blocks.block import Block, Paragraph, Target
from app.keys.commands import Command, bindings
from app.methods.cases import Cases
from app.methods.page import MethodPage, nothing
from app.methods.pages import offered, pages
from app.methods.place import Place
from app.state.run import RunState
from app.wording.verdict_text import verdict_sentence, verdicts
from screens.panes.blocks import BlocksPane
from screens.panes.cases import CasesPane
from screens.panes.cases_tab import CasesTab
from screens.run_session import Session, work_over
from screens.tabbed_screen import TabbedScreen
from screens.widgets.tab_line import Tab

CASES, RESULTS, TRAINING = Tab("cases", "Cases"), Tab("results", "Results"), Tab("training", "Training")
_NO_RESULTS = "The results appear here when they are measured; until then, Cases shows each case as it comes."
_NO_TRAINING = "Nothing has been trained yet."


class MethodScreen(TabbedScreen):
    """A method's screen of one run; a subclass adds what only its method has."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(
        tuple(
            Command(str(n), f"tab({n - 1})", f"Tab {n}", f"Show tab {n}.", shown=False) for n in range(1, 5)
        )
    )

    def __init__(self, session: Session, title: str = "") -> None:
        super().__init__(session)
        self.method: MethodPage = pages()[title or self.TITLE_WORD]
        self.TITLE_WORD = self.method.title
        self.HELP = self.method.help  # pyright: ignore[reportAttributeAccessIssue]
        self.offered = offered(self.method, session.state)
        self.TABS = self.tab_list()
        self.STAGE_TABS = self.method.shown_by

    def tab_list(self) -> Sequence[Tab]:
        """The tabs that the method has anything for."""
        page = self.method
        has = {
            CASES: any(cases.name in self.offered for cases in page.cases),
            RESULTS: page.results is not nothing or bool(page.result_charts),
            TRAINING: page.training is not nothing or bool(page.training_charts),
        }
        return [tab for tab, there in has.items() if there and (tab == CASES or tab.id in self.offered)]

    def panes(self) -> ComposeResult:
        for tab in self.TABS:
            yield self.make(tab)

    def make(self, tab: Tab) -> Widget:
        """A tab's content."""
        if tab.id == CASES.id:
            kinds = [cases for cases in self.method.cases if cases.name in self.offered]
            return CasesTab([self.make_cases(cases) for cases in kinds], id=tab.id)
        if tab.id == RESULTS.id:
            charts = self.method.result_charts
            return BlocksPane(self.session, charts, self.result_blocks, _NO_RESULTS, id=tab.id)
        charts, blocks = self.method.training_charts, self.method.training
        return BlocksPane(self.session, charts, blocks, _NO_TRAINING, id=tab.id)

    def make_cases(self, cases: Cases) -> Widget:
        """The pane of a kind of cases; a subclass may have one of its own."""
        return CasesPane(self.session, cases, id=cases.name)

    def _go_with_the_stage(self) -> None:
        """When the work is over, a kind of cases without any gives way to the first that has some."""
        super()._go_with_the_stage()
        state, shown = self.session.state, self.shown_name
        is_empty = any(cases.name == shown and not len(cases.rows(state)) for cases in self.method.cases)
        if is_empty and work_over(self.session, self.STAGE_TABS):
            self._show_named(next((c.name for c in self.method.cases if len(c.rows(state))), shown))

    def result_blocks(self, state: RunState) -> list[Block]:
        """The verdicts in sentences, and the tables."""
        tables = [*self.method.results(state), *self.method.more_results(state)]
        stages = [name for name, stage in state.stages.items() if name in self.method.shown_by]
        sentences: list[Block] = [
            Paragraph(verdict_sentence(verdict), "good" if verdict.shown else "warn")
            for verdict in verdicts(state.stages, stages)
        ]
        return [*sentences, *tables]

    def counts(self) -> Sequence[int | None]:
        rows = len(self.cases.rows(self.session.state)) if self.method.cases else None
        return [rows if tab.id == CASES.id else None for tab in self.TABS]

    @property
    def cases(self) -> Cases:
        """The kind of cases that is shown."""
        shown = self.query_one(CasesTab).shown_name
        return next(cases for cases in self.method.cases if cases.name == shown)

    def place_of(self, target: Target) -> Place | None:
        return self.method.place_of(target, self.session.state)
