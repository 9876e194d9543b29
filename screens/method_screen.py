"""The screen of a method, live or replayed: its cases, its results and its training."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

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
from screens.panes.pane import Pane
from screens.run_session import Session, work_over
from screens.systems import systems
from screens.tabbed_screen import CASES, TabbedScreen
from screens.widgets.tab_line import Tab

RESULTS, TRAINING = Tab("results", "Results"), Tab("training", "Training")
_NO_RESULTS = "The results appear here when they are measured; until then, Cases shows each case as it comes."
_TAB_HELP = "Show the tab of this number; again: its next kind."
_TAB_KEYS = tuple(Command(str(n), f"tab({n - 1})", "Tab", _TAB_HELP, shown=False) for n in range(1, 5))
_NO_TRAINING = "Nothing has been trained yet."


class MethodScreen(TabbedScreen):
    """A method's screen of one run; a subclass adds what only its method has."""

    BINDINGS = bindings(_TAB_KEYS)

    def __init__(self, session: Session, title: str = "") -> None:
        super().__init__(session)
        self.method: MethodPage = pages()[title or self.TITLE_WORD]
        self.TITLE_WORD = self.method.title
        self.HELP = self.method.help  # pyright: ignore[reportAttributeAccessIssue]
        self.offered = offered(self.method, session.state)
        self.TABS = self.tab_list()
        kinds = [cases.name for cases in self.method.cases if cases.name in self.offered]
        self.KINDS = kinds if CASES.id in [tab.id for tab in self.TABS] else []
        self.kind = next(iter(self.KINDS), "")
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

    def make(self, name: str) -> Pane:
        if name == RESULTS.id:
            charts = self.method.result_charts
            return BlocksPane(self.session, charts, self.result_blocks, _NO_RESULTS, id=name)
        if name == TRAINING.id:
            charts, blocks = self.method.training_charts, self.method.training
            return BlocksPane(self.session, charts, blocks, _NO_TRAINING, id=name)
        return self.make_cases(next(cases for cases in self.method.cases if cases.name == name))

    def make_cases(self, cases: Cases) -> CasesPane:
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

    def show(self) -> None:
        """Draw the session's state."""
        super().show()
        if self.KINDS:
            # Beside Results and Training nothing says of which of several kinds a number would be.
            known = len(self.KINDS) == 1 or self.shown_name in self.KINDS
            self.tabs.count(CASES.id, f"{len(self.cases.rows(self.session.state)):,}" if known else "")

    @property
    def cases(self) -> Cases:
        """The kind of cases that is shown."""
        return next(cases for cases in self.method.cases if cases.name == self.kind)

    def place_of(self, target: Target) -> Place | None:
        return self.method.place_of(target, self.session.state)


def screen_of(title: str, session: Session) -> MethodScreen:
    """The screen of the method with this title, which is imported now."""
    module, _, name = next(system.screen for system in systems() if system.title == title).partition(":")
    return getattr(import_module(module), name)(session, title)
