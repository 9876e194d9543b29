"""The demonstration pool, live or replayed: queries and their 64 candidates, totals, the selector trained on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from app.commands import bindings
from screens.panes.files import FilesPane
from screens.pool.picks import PoolPicksPane
from screens.pool.queries import PoolQueriesPane
from screens.pool.selector import PoolSelectorPane
from screens.pool.totals import PoolTotalsPane
from screens.tabbed_screen import TabbedScreen, tab_commands
from screens.widgets.tab_line import Tab

TABS = [
    Tab("pool-queries-pane", "Queries"),
    Tab("pool-totals-pane", "Totals"),
    Tab("pool-selector-pane", "Selector"),
    Tab("pool-picks-pane", "Picks"),
    Tab("pool-files-pane", "Files"),
]


class PoolScreen(TabbedScreen):
    """The pool screen of one run."""

    CSS_PATH = ["../tabbed_screen.tcss", "screen.tcss"]
    TITLE_WORD = "Pool"
    TABS = TABS
    STAGE_TABS = {"pool": 0, "selector": 2}
    BINDINGS: ClassVar[list[BindingType]] = bindings(tab_commands(TABS))
    HELP = """\
# Pool: demonstrations

A query is asked with two demonstrations out of 64 candidates. Its pool is brought to that size; the model is
asked with pairs of the rows nearest to the query; what raises the best score, or has a score that is new, is
*committed*, everything else *refused*. Candidates that committed pairs need are injected in the places of the least
similar ones that nothing points to.

*Queries* has oracle@64, the best score known of a pair in the pool, as the data came and at the end. `enter` opens
the pool: `+` injected, `•` pointed to by a trajectory that is kept; then what was replaced, and every trajectory with
its score (✓ fully right, ◐ in part, ✗ wrong, – the model failed) and the rule that settled it; *reserve* was
refused, but stands where a repetition would. Small pictures are drawn as under even light.
*Totals* counts all queries together. *Selector* has the selector beside similarity (RICES), chance and the best that
is known, on held-out queries; *Picks* shows which pair each of them chose there, and the answer.
"""

    def panes(self) -> ComposeResult:
        yield PoolQueriesPane(self.session, id="pool-queries-pane")
        yield PoolTotalsPane(self.session, id="pool-totals-pane")
        yield PoolSelectorPane(self.session, id="pool-selector-pane")
        yield PoolPicksPane(self.session, id="pool-picks-pane")
        yield FilesPane(self.session, id="pool-files-pane")

    def counts(self) -> Sequence[int | None]:
        state = self.session.state.pool
        return len(state.queries), None, len(state.compared), len(state.picks)
