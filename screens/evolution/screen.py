"""The Evolution screen: its page, stopping after an iteration, and a new run from one."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.getters import query_one

from app.keys.commands import Command, bindings
from app.methods.evolution.iterations import ITERATIONS
from screens.evolution.branch import branch_question, total
from screens.messages import BranchRequested
from screens.method_screen import MethodScreen
from screens.panes.cases import CasesPane

COMMANDS = (
    Command("b", "branch", "Branch", "Start a new run from the iteration under the cursor; asks first."),
)


class EvolutionScreen(MethodScreen):
    """The Evolution screen of one run."""

    TITLE_WORD = "Evolution"
    BINDINGS: ClassVar[list[BindingType]] = bindings(COMMANDS)
    PALETTE = (
        *MethodScreen.PALETTE,
        Command("", "stop_after", "Stop after", "Stop the engine when this iteration is finished."),
    )

    iterations = query_one(f"#{ITERATIONS.name}", CasesPane)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "stop_after":
            return self.engine_state in ("running", "paused")
        if action == "branch":
            return self.shown_name == ITERATIONS.name and bool(self.session.state.evolution.iterations)
        return super().check_action(action, parameters)

    def action_stop_after(self) -> None:
        """Stop when the iteration is finished."""
        self.session.send("stop_after")

    def action_branch(self) -> None:
        """A new run from the iteration under the cursor."""
        row = self.iterations.under_cursor()
        if row is None or not (row.item.finished or row.item.inherited):
            self.notify("A branch needs a finished iteration: choose one.")
            return
        began, here = self.session.state.evolution.began, row.item.iteration
        planned = began.iterations if began is not None else 0

        def start(text: str | None) -> None:
            if text is not None:
                self.post_message(BranchRequested(self.session.run_dir, here, total(text, here)))

        self.app.push_screen(
            branch_question(self.session.run_dir.parent.name or "this run", here, planned), start
        )
