"""Episodic steering memory, live or replayed: every decision, what it was taken from, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.getters import query_one

from app.commands import bindings
from app.table.decision_fields import DECISION_FIELDS
from screens.esm.decisions import DecisionsPane
from screens.esm.lists import LibraryPane, PairsPane
from screens.esm.results import ResultsPane
from screens.panes.files import FilesPane
from screens.tabbed_screen import STYLES, TabbedScreen, tab_commands
from screens.widgets.tab_line import Tab

TABS = [
    Tab("decisions-pane", "Decisions"),
    Tab("pairs-pane", "Pairs"),
    Tab("library-pane", "Library"),
    Tab("results-pane", "Results"),
    Tab("files-pane", "Files"),
]


class EsmScreen(TabbedScreen):
    """The ESM screen of one run."""

    CSS_PATH = [STYLES, "screen.tcss"]
    TITLE_WORD = "ESM"
    TABS = TABS
    STAGE_TABS = {"mine": 1, "select": 2, "eval": 0}
    BINDINGS: ClassVar[list[BindingType]] = bindings(tab_commands(TABS))
    HELP = """\
# Episodic steering memory

Decisions of the controller as they are taken, the pairs and entries they stand on, and what came of them.

In *Decisions* `/` filters (or finds: `tab` in the filter line), `d` goes to the next example that came out
otherwise than under greedy, `enter` opens the decision, `←` `→` then go through them.
`enter` on a method in *Results* shows the decisions of the examples in which it differs from greedy.

Filters: `correct and alpha>0.5`, `chosen:null`, `method:esm m:2..4`, `not correct gate!=tau_null`, `score:none`,
`chosen:wrong-00*`, `question~apples`; plain words look into names and questions. The fields:

""" + "\n".join(f"- `{field.name}` {field.help}" for field in DECISION_FIELDS.values())

    decisions = query_one(DecisionsPane)

    def panes(self) -> ComposeResult:
        yield DecisionsPane(self.session, id="decisions-pane")
        yield PairsPane(self.session, id="pairs-pane")
        yield LibraryPane(self.session, id="library-pane")
        yield ResultsPane(self.session, id="results-pane")
        yield FilesPane(self.session, id="files-pane")

    def counts(self) -> Sequence[int]:
        state = self.session.state.esm
        return len(state.decisions), len(state.pairs), len(state.picks), len(state.methods)

    @property
    def busy(self) -> bool:
        return self.decisions.busy

    @on(ResultsPane.DecisionsWanted)
    def _decisions_wanted(self, message: ResultsPane.DecisionsWanted) -> None:
        self.action_tab(0)
        self.decisions.filter_by(message.filter)
