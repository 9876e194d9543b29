"""The first screen of a run: a card for each method, with its verdict, its curve and what is worth opening."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.getters import query_one

from app.commands import Command, bindings
from app.runs.time_left import time_left_sentence
from app.text import counted, duration
from engine.run.stage_state import FINISHED, SKIPPED
from screens.messages import SystemWanted, UpWanted
from screens.method_progress import MethodProgress, progress_of
from screens.overview.card_content import card_content
from screens.overview.cards import Card, Door
from screens.run_screen import RunScreen
from screens.run_session import Session, run_time_left, shown_stages
from screens.widgets.steady import Steady

COMMANDS = (
    Command("i", "stages", "Stages", "Begin a stage again, skip one, make one the last, or stop it."),
    Command("c", "efficiency", "Cost", "Where the time, the tokens and the money went."),
    *(
        Command(
            str(number),
            f"method({number})",
            f"Method {number}",
            "Open the method of this number.",
            shown=False,
        )
        for number in range(1, 10)
    ),
    Command("escape", "up", "Runs", "Back to the list of runs; the engine continues.", display="esc"),
)
_HELP = "What each method reached beside its baseline; ↑ ↓ and enter open a line."
_READING = "The log of the run is being read."
_EMPTY = "The engine has not told of its stages yet: it starts and loads what it needs."


class OverviewScreen(RunScreen):
    """All methods of one run."""

    TITLE_WORD = "Overview"
    CSS_PATH = [Path(__file__).with_name("screen.tcss")]
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (60, "-narrow"), (130, "-wide")]
    BINDINGS: ClassVar[list[BindingType]] = bindings(COMMANDS)
    HELP = """\
# Overview

A card for each method of the run: what it does now, what it reached beside its baseline, and its curve. A figure
in square brackets is the interval in which the true difference lies with 95% confidence; if it includes zero, the run
shows no difference. A line with → opens the method's screen at what it names.

`1` … `9` open the methods; on their screens `alt` and the number does, `o` comes back here. `F` follows the work: the
screen is always that of the method at work, until you go elsewhere yourself. `c` shows where time and tokens went.
`i` lists the stages: there one can be begun again from there on, skipped, stopped, or made the last one.
"""

    cards = query_one("#cards", VerticalScroll)
    about = query_one("#overview-about", Steady)

    def __init__(self, session: Session, came_from: str = "", *, id: str | None = None) -> None:
        super().__init__(session, id=id)
        self._came_from = came_from
        self._names: list[str] = []

    def compose_body(self) -> ComposeResult:
        yield Steady(id="overview-about")
        yield VerticalScroll(id="cards", can_focus=False)

    def show(self) -> None:
        """Draw the session's state."""
        state, shown = self.session.state, shown_stages(self.session)
        self.about.update(self._about(shown))
        methods = progress_of(shown) if shown else []
        if [each.name for each in methods] != self._names:
            self._make_cards(methods)
            return
        for card in self.query(Card):
            number = self._names.index(card.method)
            card.show(card_content(number + 1, methods[number], state))
        self._choose_first()

    def _make_cards(self, methods: list[MethodProgress]) -> None:
        self._names = [each.name for each in methods]
        self.cards.remove_children()
        self.cards.mount(*(Card(each.name) for each in methods))
        self.call_after_refresh(self.show)

    def _choose_first(self) -> None:
        """Put the cursor on the card that one comes from, else on the first. Cards that are made again take the cursor
        with them: it is put there anew."""
        if self.focused is not None:
            if isinstance(self.focused, Door):
                self._came_from = self.focused.method
            return
        wanted = self._came_from if self._came_from in self._names else ""
        door = next((d for d in self.query(Door) if not wanted or d.method == wanted), None)
        if door is not None:
            door.focus()

    def _about(self, shown: list) -> Text:
        state = self.session.state
        text = Text(no_wrap=True, overflow="ellipsis")
        if not shown:
            return text.append(_EMPTY if self.session.reading is None else _READING)
        if state.header is not None:
            text.append(f"{state.header.name}/{state.header.run_id}", "bold")
        done, skipped = (sum(stage.status == status for stage in shown) for status in (FINISHED, SKIPPED))
        text.append(
            f"  {done} of {counted(len(shown), 'stages')} done" + f", {skipped} skipped" * bool(skipped)
        )
        if state.time > state.began:
            text.append(f" in {duration(state.time - state.began)}")
        if state.model is not None:
            text.append(f"  model {state.model.name} on {state.model.device}")
        left = run_time_left(self.session)
        if left is not None:
            text.append(f"\n{time_left_sentence(left)}")
        return text.append(f"\n{_HELP}", "dim")

    def view(self) -> dict[str, Any]:
        return {"method": self.focused.method if isinstance(self.focused, Door) else ""}

    # ------------------------------------------------------------ actions

    @on(Door.Opened)
    def _opened(self, message: Door.Opened) -> None:
        self.post_message(SystemWanted(message.method, message.place))

    def action_move(self, by: int) -> None:
        """To another line."""
        doors = [door for door in self.query(Door) if door.display]
        if not doors:
            return
        at = next((at + by for at, door in enumerate(doors) if door is self.focused), 0)
        doors[max(0, min(at, len(doors) - 1))].focus()

    def action_stages(self) -> None:
        """The stages, and what can be done with them."""
        from screens.overview.stages import StagesPanel

        self.app.push_screen(StagesPanel(self.session))

    def action_efficiency(self) -> None:
        """Where time and tokens went."""
        from screens.overview.efficiency import EfficiencyPanel

        self.app.push_screen(EfficiencyPanel(self.session))

    def action_up(self) -> None:
        """The list of runs."""
        self.app.post_message(UpWanted())
