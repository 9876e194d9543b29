"""The console: how it begins, what works everywhere in it, and how it is left."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Thread

from textual.binding import Binding
from textual.filter import LineFilter, Monochrome
from textual.screen import Screen

from app import garbage
from app.keys.command_palette import BoundCommands
from app.keys.commands import EVERYWHERE, WITHOUT_KEY, bindings
from app.keys.refused_keys import RefusedKeys
from app.keys.typed_keys import KeysInOrder
from app.leaving import FINISHED
from app.runs.run_list import RunList
from app.settings import read_theme, write_theme
from app.started_runs import StartedRuns
from app.terminal.ascii_signs import ASCII_SIGNS, WARNING, takes_unicode
from app.terminal.plain_attributes import plain_attributes
from app.terminal.segment_filter import NO_CONTROLS
from app.terminal.themes import DARK, LIGHT
from app.terminal.watch import watch_terminal
from app.textual_internals import SparingApp, without_markup
from app.wording.text import counted, without_controls
from engine.errors import SteerError
from screens.runs.screen import RunsScreen

_OUTPUTS = Path("outputs")


@dataclass(frozen=True)
class First:
    """What is opened first, above the list of runs: `run`, at the item of the event with the number `event`; or the
    dialog that starts a run from `config`, with `changes` typed in; or of the list only the runs `choose_from`."""

    run: Path | None = None
    event: int | None = None
    config: Path | None = None
    changes: Sequence[str] = ()
    choose_from: Sequence[Path] = ()


_NOTHING = First()


def run_console(outputs: Path | None = None, first: First = _NOTHING) -> int:
    """Open the console. The exit code."""
    for name in ("COLUMNS", "LINES"):  # exported by some shells and tools: then no resize would be seen
        os.environ.pop(name, None)
    sys.setswitchinterval(0.001)  # keys do not wait for the thread that folds the log
    app = SteerApp(outputs, first)
    app.run()
    for line in app.leaving.last_words():
        with suppress(OSError):  # the terminal may have closed
            sys.stdout.write(f"{without_controls(line)}\n")
    return app.return_code or FINISHED


def _import_the_rest() -> None:
    """What the first paint does not need."""
    try:
        import_module("app.run_screens")
    finally:
        garbage.settle()


class SteerApp(RefusedKeys[None], KeysInOrder[None], StartedRuns, SparingApp[None]):
    """The console; screens ask it by messages."""

    CSS_PATH = "shell.tcss"
    COMMANDS = {BoundCommands}
    BINDINGS = [
        *bindings(EVERYWHERE),
        # Textual's own would quit without asking.
        Binding("ctrl+q", "leave", show=False, priority=True),
    ]
    PALETTE = WITHOUT_KEY

    def __init__(self, outputs: Path | None = None, first: First = _NOTHING) -> None:
        super().__init__(outputs)
        without_markup(self.console)
        self._first = first
        self.unicode = takes_unicode(getattr(sys.__stderr__, "encoding", None), os.environ)
        """Whether the terminal, to which Textual writes by standard error, can show all signs."""
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = LIGHT.name if read_theme() == LIGHT.name else DARK.name

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Whatever a widget draws, no control code of a file, a server or a model reaches the terminal."""
        filters = [*super().get_line_filters(), NO_CONTROLS, *([] if self.unicode else [ASCII_SIGNS])]
        if not self.no_color:
            return filters
        plain = plain_attributes(self.current_theme.background or "black")
        return [*(given for given in filters if not isinstance(given, Monochrome)), plain]

    def get_key_display(self, binding: Binding) -> str:
        """`enter` where its sign cannot be shown."""
        display = super().get_key_display(binding)
        return display if self.unicode else display.replace("⏎", "enter")

    def get_default_screen(self) -> Screen[None]:
        """The list of runs lies under all other screens."""
        return RunsScreen(RunList(self.outputs or _OUTPUTS))

    async def on_mount(self) -> None:
        self._listen_to_signals()
        self.set_interval(0.5, self.show_failures)
        self.set_timer(0.5, Thread(target=_import_the_rest, daemon=True).start)
        if not self.unicode:
            self.notify(WARNING, severity="warning", timeout=15, markup=False)
        self.theme_changed_signal.subscribe(self, lambda theme: write_theme(theme.name))
        first = self._first
        if first.run is not None:
            self.open_event(first.run, first.event)
        elif first.config is not None:
            self.call_after_refresh(self.ask_for_run, first.config, first.changes)
        elif first.choose_from:
            self.call_after_refresh(self._ask_which, first.choose_from)

    def _ask_which(self, runs: Sequence[Path]) -> None:
        """List the runs that were meant, and say why."""
        names = sorted({path.parent.name for path in runs})
        self.home.bar.set(" or ".join(f'name:"{name}"' for name in names))
        count = counted(len(runs), "runs")
        self.notify(f"{count} have this name: choose one and press enter.", markup=False)

    # ------------------------------------------------------------ signals

    def _listen_to_signals(self) -> None:
        """SIGTERM and SIGHUP detach and restore the terminal; SIGINT acts as Ctrl+C."""
        if self.is_headless:
            return
        watch_terminal()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.leaving.by_signal, number)
        loop.add_signal_handler(signal.SIGINT, self.action_interrupt)

    # ------------------------------------------------------------ leaving

    def action_leave(self) -> None:
        """Leave; ask first if a run is running."""
        self.leaving.ask()

    def action_interrupt(self) -> None:
        """Ctrl+C: stop and keep, then leave."""
        self.leaving.interrupt()

    # ------------------------------------------------------------ everywhere

    def action_explain(self) -> None:
        """What this screen shows, and its keys."""
        from screens.panels.help import HelpScreen

        self.push_screen(HelpScreen(self.screen))

    def action_find(self) -> None:
        """Find rows of the table that is shown."""
        from screens.find import find_on

        find_on(self.screen)

    def action_picture(self) -> None:
        """Write what is on the screen as SVG: into the open run's folder, else into the working folder."""
        from app.export import export_path, picture_of, write_picture

        try:
            path = export_path(self.session.run_dir if self.session else Path.cwd(), "screen", ".svg")
            write_picture(path, picture_of(self))
        except (OSError, SteerError) as error:
            self.notify(f"The picture was not written: {error}", severity="error", markup=False)
            return
        self.notify(str(path), title="SVG written", markup=False)

    def action_toggle_dark(self) -> None:
        """The other theme."""
        self.theme = LIGHT.name if self.current_theme.dark else DARK.name
