"""The pool screen, live or replayed: queries and their 64 candidates, totals, the selector, its picks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from app.commands import bindings
from app.methods.place import Place
from screens.panes.files import FilesPane
from screens.pool.picks import PoolPicksPane
from screens.pool.queries import PoolQueriesPane
from screens.pool.selector import PoolSelectorPane
from screens.pool.totals import PoolTotalsPane
from screens.tabbed_screen import STYLES, TabbedScreen, tab_commands
from screens.widgets.links import Target
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

    CSS_PATH = [STYLES, "screen.tcss"]
    TITLE_WORD = "Pool"
    TABS = TABS
    STAGE_TABS = {"pool": 0, "selector": 2}
    BINDINGS: ClassVar[list[BindingType]] = bindings(tab_commands(TABS))
    HELP = """\
# Pool: demonstrations

The model answers a query with two demonstrations out of a pool of 64 candidates. The stage brings each pool to that
size and tries pairs of the rows nearest to the query. A pair that raises the best score, or has a new score, is
*committed*; all others are *refused*. Candidates that committed pairs need are injected; they replace the least similar
candidates that no kept trajectory uses.

*Queries* has oracle@64, the best known score of a pair in the pool, in the original data and at the end. `enter` opens
the query with the pairs that were committed, each with the answer and the score that it improved (`d` goes to the next
query that was improved), and the pool: `+` was injected, `•` belongs to a kept trajectory; then the replaced
candidates, and every trajectory with its score (✓ fully right, ◐ partly, ✗ wrong, – the model failed) and the rule that
decided; *kept 3×* was kept once and repeated twice; *reserve* was refused, but fills a place that would else hold a
repetition (`pool.fill_with_refused`). From 90 columns on, candidates are
drawn as pictures if the log has them; shades across a picture are evened out.
*Totals* counts all queries together, also while the stage runs. *Selector* charts its training and compares it on
held-out queries with similarity (RICES), random pairs and the best known pair; *Picks* shows the pair that each of them
chose there, and the answer. `w` in *Queries* and *Picks* asks a query again with other demonstrations, or with none.
Underlined counts lead to the first of what they count.
"""

    def panes(self) -> ComposeResult:
        yield PoolQueriesPane(self.session, id="pool-queries-pane")
        yield PoolTotalsPane(self.session, id="pool-totals-pane")
        yield PoolSelectorPane(self.session, id="pool-selector-pane")
        yield PoolPicksPane(self.session, id="pool-picks-pane")
        yield FilesPane(self.session, id="pool-files-pane")

    def place_of(self, target: Target) -> Place | None:
        """The first query on which a method picks `better` or `worse` than RICES, or the first with a `warning`."""
        pool = self.session.state.pool
        if target.kind == "warning":
            rows = (at for at, row in enumerate(pool.queries) if row.warning)
            tab = "pool-queries-pane"
        else:
            sign = 1 if target.kind == "better" else -1
            rows = (at for at, row in enumerate(pool.picks) if row.sign(target.name) == sign)
            tab = "pool-picks-pane"
        first = next(rows, None)
        return None if first is None else Place(tab, first, open=True)

    def counts(self) -> Sequence[int | None]:
        state = self.session.state.pool
        return len(state.queries), None, len(state.compared), len(state.picks)
