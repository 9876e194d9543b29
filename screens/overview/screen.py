"""The first screen of a run: a line for each method, and in the room below it their curves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Grid
from textual.getters import query_one

from app.blocks.fit import fit
from app.keys.commands import ERROR, REPORT, Command, bindings
from app.runs.time_left import time_left_sentence
from app.state.run import LOG_IS_CUT
from app.wording.text import counted, duration
from engine.run.stage_state import FINISHED, SKIPPED, StageState
from screens.method_progress import MethodProgress, progress_of
from screens.overview.card_content import card_content
from screens.overview.card_panel import CardPanel
from screens.overview.cards import Card
from screens.overview.digest import DigestTable, digest_lines
from screens.run_screen import RunScreen
from screens.run_session import Session, run_time_left, shown_stages
from screens.widgets.lazy_static import LazyStatic
from screens.widgets.line_list import LineList
from screens.widgets.tones import tone

COMMANDS = (
    Command("slash", "search", "Search", "Find rows of all methods by words or ids.", display="/"),
    Command("i", "stages", "Stages", "Begin a stage again, skip one, make one the last, or stop it."),
    Command("O", "files", "Files", "The figures and files of every stage, servers, and notices."),
    REPORT,
    ERROR,
    *(
        Command(str(number), f"method({number})", "Method", "Open the method of this number.", shown=False)
        for number in range(1, 10)
    ),
    Command("escape", "app.up", "Runs", "Back to the list of runs; the engine continues.", display="esc"),
)
_READING = "The log of the run is being read."
_EMPTY = "The engine has not listed its stages yet: it starts and loads what it needs."


_ALL_TILES = (120, 36)
"""Columns and lines from which on every method has a tile; below, the one under the cursor."""
_TILE = 58
"""Columns that a tile has at least, and"""
_WITH_SENTENCES = 12
"""lines from which on it has the sentence, too."""
_TONES = ("good", "bad", "dim")


class OverviewScreen(RunScreen):
    """All methods of one run."""

    TITLE_WORD = "Overview"
    CSS_PATH = [Path(__file__).with_name("screen.tcss")]
    COMPONENT_CLASSES = {f"overview--{name}" for name in _TONES}
    BINDINGS = bindings(COMMANDS)
    HELP = """\
# Overview

A line for each method of the run: its baseline and what that reached, what the method reached, and the difference: ▲
better, ▼ worse, ≈ no difference is shown. In square brackets stands the interval in which the true difference lies with
95% confidence; if it includes zero, the run shows no difference. *cost* is of an answer, with its change against the
baseline. *as good* names the closest simpler method that is not shown to be worse: without a sign it has the same
figure, ≈ no difference is shown, ▲ it is better; in brackets it is judged by another figure, on the card. While a
method works, its line says how far it is (▶ 4/4 40%: 40% of the fourth of its four stages) and what it reached so far.
Below stand the curves, with the baseline's (dotted) in the same scale.

`enter` opens the method's card: what it reached in a sentence, and what is worth opening. `1` … `9` open the methods;
on their screens `alt` and the number does.
"""

    about = query_one("#overview-about", LazyStatic)
    heading = query_one("#digest-heading", LazyStatic)
    lines = query_one(LineList)
    tiles = query_one("#tiles", Grid)

    def __init__(self, session: Session, came_from: str = "") -> None:
        super().__init__(session)
        self._method = came_from
        """The method under the cursor."""
        self._names: list[str] = []

    def compose_body(self) -> ComposeResult:
        yield LazyStatic(id="overview-about")
        yield LazyStatic(id="digest-heading")
        yield LineList()
        yield Grid(id="tiles")

    def show(self) -> None:
        """Draw the session's state."""
        shown = shown_stages(self.session)
        self.about.update(self._about(shown, self.size.width - 2))
        methods = progress_of(shown) if shown else []
        if (at := self.lines.highlighted) is not None:
            self._method = self._names[at]
        self._names = [each.name for each in methods]
        if self._names and self._method not in self._names:
            self._method = self._names[0]
        self._show_lines(methods)
        self._show_tiles(methods)

    def _show_lines(self, methods: list[MethodProgress]) -> None:
        lines = digest_lines(methods, self.session.state, self.size.width)
        styles = {name: tone(self, f"overview--{name}") for name in _TONES}
        table = DigestTable(lines, self.size.width, styles)
        self.heading.update(Text("  ") + table.heading() if lines else Text())
        chosen = self._names.index(self._method) if lines else None
        self.lines.show([table.line(line) for line in lines], chosen)

    def _show_tiles(self, methods: list[MethodProgress]) -> None:
        """Those for which there is room."""
        width, height = self.size
        every = (width, height) >= _ALL_TILES and height >= _ALL_TILES[1]
        across = max(1, min(width // _TILE, len(methods))) if every else 1
        down = max(1, -(-len(methods) // across)) if every else 1
        self.tiles.styles.grid_size_columns = across
        self.tiles.set_class(every, "-every")
        self.tiles.set_class(self.tiles.size.height // down >= _WITH_SENTENCES, "-tall")
        cards = list(self.query(Card))
        if len(cards) < len(methods):
            cards += (added := [Card() for _ in methods[len(cards) :]])
            self.tiles.mount(*added)
        for card in cards[len(methods) :]:
            card.display = False
        for number, (card, progress) in enumerate(zip(cards, methods, strict=False), 1):
            card.display = every or progress.name == self._method
            if card.display:
                content = card_content(number, progress, self.session.state)
                newest = content.sentences[:1] or (content.about,)
                card.show(progress.name, replace(content, state="", sentences=newest))

    @on(LineList.OptionHighlighted)
    def _moved(self) -> None:
        """The cursor is on another line, and with it the tile where there is one."""
        self.show()

    def _about(self, shown: list[StageState], width: int) -> Text:
        state = self.session.state
        text = Text()
        if not shown:
            waiting = _EMPTY if self.session.reading is None else _READING
            return text.append(LOG_IS_CUT if self.session.log_is_cut else waiting)
        done, skipped = (sum(stage.status == status for stage in shown) for status in (FINISHED, SKIPPED))
        words = f"  {done} of {counted(len(shown), 'stages')} done" + f", {skipped} skipped" * bool(skipped)
        if state.worked:
            words += f" in {duration(state.worked)}"
        if state.header is not None:
            run_id = f"/{state.header.run_id}"
            room = width - len(run_id) - len(words)
            text.append(f"{fit(state.header.name, max(1, room))}{run_id}", "bold")
        text.append(words)
        if self.session.log_is_cut:
            return text.append(f"\n{LOG_IS_CUT}")
        left = run_time_left(self.session)
        return text if left is None else text.append(f"\n{time_left_sentence(left)}")

    def view(self) -> dict[str, Any]:
        return {"method": self._method}

    # ------------------------------------------------------------ actions

    @on(LineList.OptionSelected)
    def _opened(self, message: LineList.OptionSelected) -> None:
        self.app.push_screen(CardPanel(self.session, self._names[message.option_index]))

    @on(Card.Clicked)
    def _clicked(self, message: Card.Clicked) -> None:
        self.app.push_screen(CardPanel(self.session, message.method))

    def action_stages(self) -> None:
        """The stages, and what can be done with them."""
        from screens.overview.stages import StagesPanel

        self.app.push_screen(StagesPanel(self.session))

    def action_files(self) -> None:
        """Figures and files of every stage."""
        from screens.overview.files import FilesPanel

        self.app.push_screen(FilesPanel(self.session))
