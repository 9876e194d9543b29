"""The evolution screen, live or replayed: iterations, answers, deltas, the reflector's replies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.getters import query_one

from app.blocks.block import Target
from app.commands import Command, PaletteCommand, bindings
from app.methods.place import OfEvent, Place
from screens.evolution.answers import AnswersPane
from screens.evolution.branch import branch_question, total
from screens.evolution.deltas import DeltasPane
from screens.evolution.iterations import IterationsPane
from screens.evolution.reflector import ReflectorPane, ServerPane
from screens.messages import BranchWanted
from screens.panes.files import FilesPane
from screens.tabbed_screen import STYLES, TabbedScreen, tab_commands
from screens.widgets.tab_line import Tab

TABS = [
    Tab("iterations-pane", "Iterations"),
    Tab("answers-pane", "Answers"),
    Tab("deltas-pane", "Deltas"),
    Tab("reflector-pane", "Reflector"),
    Tab("server-pane", "Server"),
    Tab("evolution-files-pane", "Files"),
]
COMMANDS = (
    Command("b", "branch", "Branch", "Start a new run from the iteration under the cursor; asks first."),
)


class EvolutionScreen(TabbedScreen):
    """The evolution screen of one run."""

    CSS_PATH = [STYLES, "screen.tcss"]
    TITLE_WORD = "Evolution"
    TABS = TABS
    STAGE_TABS = {"evolve": "iterations-pane"}
    BINDINGS: ClassVar[list[BindingType]] = bindings((*tab_commands(TABS), *COMMANDS))
    PALETTE = (
        *TabbedScreen.PALETTE,
        PaletteCommand("stop_after", "Stop after", "Stop the engine when this iteration is finished."),
    )
    HELP = """\
# Evolution of cluster deltas

Every token of the vocabulary belongs to a cluster; a delta is added to the logits of all tokens of its cluster. Each
iteration answers a minibatch of questions under the current deltas, judges the answers, and shows them to the
reflector, which proposes new deltas. *Composite* is 0.4 · shortness + 0.6 · correctness. The iteration with the highest
composite so far is kept as best (★): by its own minibatch, or, with `best_by: validation`, by a fixed validation set on
which deltas that look better are tried (◇); the line below the table says which. With a test set the best deltas are
compared at the end with no processor, with length caps and with a request for short answers, on questions that decided
nothing; if one of these does better, the first line of the opened iteration says so. Without one nothing is compared.

*Iterations* charts composite, correctness and length.
`enter` opens the iteration under the cursor: what it gained over the best before it, why it has these deltas, its
scores, the reflector's reply, every delta before and after. `b`
starts a new run from that iteration's deltas, after it has asked how many iterations shall follow; this run is not
changed. `S` stops at once, *Stop after* in the palette (`^p`) when the iteration is finished; answers that were given
are kept and not asked for again.
*Answers* has the answers of the iteration under the cursor, longest first, with the judge's reasoning; the tokens have
the colour of their cluster; `w` answers the question again under other deltas. *Deltas* is a heat map of clusters by
iterations: the higher the block, the stronger the delta; `←` `→` show other iterations. *Reflector* shows what the
reflector has learnt, *Server* the state and log of the model server.
"""

    iterations = query_one(IterationsPane)

    def panes(self) -> ComposeResult:
        yield IterationsPane(self.session, id="iterations-pane")
        yield AnswersPane(self.session, self._selected, id="answers-pane")
        yield DeltasPane(self.session, id="deltas-pane")
        yield ReflectorPane(self.session, id="reflector-pane")
        yield ServerPane(self.session, id="server-pane")
        yield FilesPane(self.session, id="evolution-files-pane")

    def _selected(self) -> int | None:
        item = self.iterations.selected
        return None if item is None else item.iteration

    def counts(self) -> Sequence[int]:
        evolution = self.session.state.evolution
        return len(evolution.iterations), len(evolution.answers)

    def place_of(self, target: Target) -> Place | None:
        """`answers` of an iteration, or the `iteration` itself."""
        numbers = list(self.session.state.evolution.iterations)
        if int(target.name) not in numbers:
            return None
        answers = target.kind == "answers"
        return Place("answers-pane") if answers else Place("iterations-pane", numbers.index(int(target.name)))

    def follow(self, target: Target) -> None:
        self.iterations.table.follow = (
            False  # Answers shows those of the iteration under the cursor: it stays
        )
        super().follow(target)

    def look_at(self, place: Place) -> bool:
        """The answers shown are those of one iteration: choose the one that the answer wanted belongs to."""
        key, evolution = place.key, self.session.state.evolution
        if place.tab == "answers-pane" and isinstance(key, OfEvent):
            answer = next((row for row in evolution.answers if row.place.offset == key.offset), None)
            numbers = list(evolution.iterations)
            if answer is None or answer.iteration not in numbers:
                return False
            self.look_at(Place("iterations-pane", numbers.index(answer.iteration)))
        return super().look_at(place)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "stop_after":
            return self.engine_state in ("running", "paused")
        if action == "branch":
            return bool(self.session.state.evolution.iterations) and self.tabs.active == 0
        return super().check_action(action, parameters)

    def action_stop_after(self) -> None:
        """Stop when the iteration is finished."""
        self.session.send("stop_after")

    def action_branch(self) -> None:
        """A new run from the iteration under the cursor."""
        item = self.iterations.selected
        if item is None or not (item.finished or item.inherited):
            self.notify("A branch needs a finished iteration: choose one.")
            return
        began, here = self.session.state.evolution.began, item.iteration
        planned = began.iterations if began is not None else 0

        def start(text: str | None) -> None:
            if text is not None:
                self.post_message(BranchWanted(self.session.run_dir, here, total(text, here)))

        self.app.push_screen(
            branch_question(self.session.run_dir.parent.name or "this run", here, planned), start
        )
