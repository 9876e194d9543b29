"""The Evolution screen: its page, and stopping after an iteration."""

from __future__ import annotations

from app.keys.commands import Command
from screens.method_screen import MethodScreen
from screens.run_session import engine_state


class EvolutionScreen(MethodScreen):
    """The Evolution screen of one run."""

    TITLE_WORD = "Evolution"
    PALETTE = (
        *MethodScreen.PALETTE,
        Command("", "stop_after", "Stop after", "Stop the engine when this iteration is finished."),
    )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "stop_after":
            return engine_state(self.session) in ("running", "paused")
        return super().check_action(action, parameters)

    def action_stop_after(self) -> None:
        """Stop when the iteration is finished."""
        self.session.send("stop_after")
