"""The ESM screen, live or replayed: every decision, the pairs and entries behind it, and the results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.getters import query_one

from app.blocks.block import Target
from app.commands import bindings
from app.methods.place import Place
from app.table.decision_fields import DECISION_FIELDS
from screens.esm.decisions import DecisionsPane
from screens.esm.library import LibraryPane
from screens.esm.pairs import PairsPane
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
    STAGE_TABS = {
        "mine": "pairs-pane",
        "select": "library-pane",
        "eval": "decisions-pane",
        "serve": "decisions-pane",
    }
    BINDINGS: ClassVar[list[BindingType]] = bindings(tab_commands(TABS))
    HELP = """\
# Episodic steering memory

*Decisions* has a row for every steering decision. The line below it holds esm's running accuracy minus greedy's, with
its 95% interval, and the tokens it costs. `d` goes to the next example whose answer is right under one of the two only.
`enter` opens a decision: the question with all answers, the chain of segments with the one in which the answer left
greedy's way, the rule in a sentence, a bar for each candidate's Score with null's as a line through them, and the
texts: + is what steering wrote, − what greedy wrote or null would have written. `←` `→` then go to other decisions.
`tab` chooses one of the underlined ids, `enter` goes there, `backspace` comes back.
`w` asks *what if*: another entry, strength or layer, or null, here or to the end, decoded beside the record.

*Pairs* has the mined pairs, right against wrong text. *Library* has the entries in the order in which they were picked,
with a ledger: how often each was injected, the answers it turned right (▲) and wrong (▼), and its probes' mean Δlogp.
An answer is turned by the entry that was injected where it left greedy's way; sorted by *net*, those that hurt come
first; `d` goes to the next one.
*Results* compares each method with greedy (Wilson interval, paired bootstrap interval, McNemar's p); `enter` shows the
decisions of the examples in which the method differs. *Files* has the run's folder, the figures and files of each
stage, the use of servers, and the notices.

`/` filters: `correct and alpha>0.5`, `chosen:null`, `method:esm m:2..4`, `not correct gate!=tau_null`, `score:none`,
`chosen:"Backward*"`, `question~apples`. Plain words are searched in names and questions. `tab` in the filter line finds
rows instead of hiding the others; `n` and `N` then go to the next and previous match. The fields:

""" + "\n".join(f"- `{field.name}` {field.help}" for field in DECISION_FIELDS.values())

    decisions = query_one(DecisionsPane)
    pairs = query_one(PairsPane)
    library = query_one(LibraryPane)

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
        self.follow(Target("filter", message.filter))

    # ------------------------------------------------------------ ids

    def place_of(self, target: Target) -> Place | None:
        """`decision` is a method, an example and a segment; `example` a method and an example; `filter` decisions."""
        state, name = self.session.state.esm, target.name
        match target.kind:
            case "entry":
                return _row("library-pane", (pick.entry == name for pick in state.picks))
            case "pair":
                return _row("pairs-pane", (pair.pair == name for pair in state.pairs))
            case "decision":
                return self._decision(*name.rsplit(" ", 2))
            case "example":
                method, example = name.split(" ", 1)
                return Place("decisions-pane", filter=f'method:{method} example:"{example}"')
            case _:
                return Place("decisions-pane", filter=name)

    def _decision(self, method: str, example: str, m: str) -> Place | None:
        state = self.session.state.esm
        of_method, of_example = state.names.find(method), state.names.find(example)
        if of_method is None or of_example is None:
            return None
        chain = state.decisions.chain(of_method, of_example)
        if not 0 < int(m) <= len(chain):
            return None
        row = chain[int(m) - 1]
        shown = self.decisions.source.find(row) is not None
        return Place("decisions-pane", row, self.decisions.filter_text if shown else "", open=True)


def _row(tab: str, wanted: Iterable[bool]) -> Place | None:
    """The first row of a tab's list that is wanted."""
    row = next((row for row, hit in enumerate(wanted) if hit), None)
    return None if row is None else Place(tab, row)
