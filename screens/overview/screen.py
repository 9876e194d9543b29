"""The first screen of a run: a line for each method, and in the room below it their curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Grid, VerticalScroll
from textual.getters import query_one

from app.keys.commands import ERROR, REPORT, Command, bindings
from app.runs.time_left import time_left_sentence
from app.wording.text import counted, duration
from engine.run.stage_state import FINISHED, SKIPPED, StageState
from screens.method_progress import MethodProgress, progress_of
from screens.overview.card_content import card_content
from screens.overview.card_panel import CardPanel
from screens.overview.cards import PlaceLink, Tile, move_focus
from screens.overview.digest import DigestTable, digest_lines
from screens.run_screen import RunScreen
from screens.run_session import Session, run_time_left, shown_stages
from screens.widgets.lazy_static import LazyStatic
from screens.widgets.tones import tone

COMMANDS = (
    Command("slash", "search", "Search", "Find rows of all methods by words or ids.", display="/"),
    Command("i", "stages", "Stages", "Begin a stage again, skip one, make one the last, or stop it."),
    Command("O", "files", "Files", "The figures and files of every stage, servers, and notices."),
    REPORT,
    ERROR,
    *(
        Command(
            str(number),
            f"method({number})",
            "Method",
            "Open the method of this number.",
            shown=False,
        )
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
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"overview--{name}" for name in _TONES}
    BINDINGS: ClassVar[list[BindingType]] = bindings(COMMANDS)
    HELP = """\
# Overview

A line for each method of the run: its baseline and what that reached, what the method reached, and the difference: ▲
better, ▼ worse, ≈ no difference is shown. In square brackets stands the interval in which the true difference lies with
95% confidence; if it includes zero, the run shows no difference. *cost* is of an answer, with its change against the
baseline. *as good* is the simpler method that comes closest, of those that are not shown to be worse: with the same
figure, ≈ with an interval that includes zero, or ▲ better. While a method works, its line says how far it is and what
it reached so far. Below stand the curves, with the baseline's (dotted) in the same scale.

`enter` opens the method's card: what it reached in a sentence, and what is worth opening. `1` … `9` open the methods;
on their screens `alt` and the number does, `o` comes back here. `F` follows the work: the screen is always that of the
method at work, until you go elsewhere yourself. `i` lists the stages: there one can be begun again
from there on, skipped, stopped, or made the last one.
"""

    about = query_one("#overview-about", LazyStatic)
    heading = query_one("#digest-heading", LazyStatic)
    lines = query_one("#digest", VerticalScroll)
    tiles = query_one("#tiles", Grid)

    def __init__(self, session: Session, came_from: str = "", *, id: str | None = None) -> None:
        super().__init__(session, id=id)
        self._came_from = came_from
        self._names: list[str] = []

    def compose_body(self) -> ComposeResult:
        yield LazyStatic(id="overview-about")
        yield LazyStatic(id="digest-heading")
        yield VerticalScroll(id="digest", can_focus=False)
        yield Grid(id="tiles")

    def show(self) -> None:
        """Draw the session's state."""
        shown = shown_stages(self.session)
        self.about.update(self._about(shown))
        methods = progress_of(shown) if shown else []
        if [each.name for each in methods] != self._names:
            self._make_lines(methods)
        if any([each.method for each in self.query(kind)] != self._names for kind in (PlaceLink, Tile)):
            return  # those of before are still there
        self._choose_first()
        self._show_lines(methods)
        self._show_tiles(methods)

    def _make_lines(self, methods: list[MethodProgress]) -> None:
        self._names = [each.name for each in methods]
        self.lines.remove_children()
        self.lines.mount(*(PlaceLink(name) for name in self._names))
        self.tiles.remove_children()
        self.tiles.mount(*(Tile(name) for name in self._names))
        self.call_after_refresh(self.show)

    def _show_lines(self, methods: list[MethodProgress]) -> None:
        lines = digest_lines(methods, self.session.state, self.size.width)
        styles = {name: tone(self, f"overview--{name}") for name in _TONES}
        table = DigestTable(lines, self.size.width, styles)
        self.heading.update(Text("  ") + table.heading() if lines else Text())
        for link, line in zip(self.query(PlaceLink), lines, strict=True):
            link.lead(Text("› " if link is self.focused else "  ") + table.line(line))

    def _show_tiles(self, methods: list[MethodProgress]) -> None:
        """Those for which there is room."""
        width, height = self.size
        every = (width, height) >= _ALL_TILES and height >= _ALL_TILES[1]
        across = max(1, min(width // _TILE, len(methods))) if every else 1
        down = max(1, -(-len(methods) // across)) if every else 1
        self.tiles.styles.grid_size_columns = across
        self.tiles.set_class(every, "-every")
        self.tiles.set_class(self.tiles.size.height // down >= _WITH_SENTENCES, "-tall")
        for number, (tile, progress) in enumerate(zip(self.query(Tile), methods, strict=True), 1):
            tile.display = every or progress.name == self._method
            if tile.display:
                tile.show(card_content(number, progress, self.session.state))

    @property
    def _method(self) -> str:
        """The method of the line under the cursor, or the one that it comes back to."""
        return self.focused.method if isinstance(self.focused, PlaceLink) else self._came_from

    def _choose_first(self) -> None:
        """Put the cursor on the line that one comes from, else on the first. Lines that are made again take the cursor
        with them: it is put there anew."""
        if self.focused is not None:
            self._came_from = self._method
            return
        links = list(self.query(PlaceLink))
        if links:
            next((link for link in links if link.method == self._came_from), links[0]).focus()

    def on_descendant_focus(self) -> None:
        """The cursor is on another line, and with it the tile where there is one."""
        self.show()

    def _about(self, shown: list[StageState]) -> Text:
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
        left = run_time_left(self.session)
        return text if left is None else text.append(f"\n{time_left_sentence(left)}")

    def view(self) -> dict[str, Any]:
        return {"method": self.focused.method if isinstance(self.focused, PlaceLink) else ""}

    # ------------------------------------------------------------ actions

    @on(PlaceLink.Opened)
    def _opened(self, message: PlaceLink.Opened) -> None:
        """Show the card."""
        self.app.push_screen(CardPanel(self.session, message.method))

    def action_move(self, by: int) -> None:
        """To another line."""
        move_focus(self, by)

    def action_stages(self) -> None:
        """The stages, and what can be done with them."""
        from screens.overview.stages import StagesPanel

        self.app.push_screen(StagesPanel(self.session))

    def action_files(self) -> None:
        """Figures and files of every stage."""
        from screens.overview.files import FilesPanel

        self.app.push_screen(FilesPanel(self.session))
