"""The dialog that starts a run: choose or type a configuration and change fields of it; shows all that is wrong."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.getters import query_one
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Label, Static

from app.commands import NEW_RUN, bindings
from app.runs.configs import INSTALLED, ConfigFile, find_configs, leading_comment, named_kconfig
from engine.errors import ConfigError, Problem
from engine.run.directory import RunDirectory
from screens.error_panel import Fault, fault_table
from screens.widgets.key_line import KeyLine
from screens.widgets.tones import tone

_OTHER_ROWS = 17
"""Rows of the console for the dialog's other parts, with three lines of description."""
_LEAST_SHOWN = 3


class ConfigList(Widget):
    """The list of configurations; a click chooses one."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"config-list--chosen", "config-list--dim"}
    DEFAULT_CSS = """
    ConfigList {
        height: auto;
        & > .config-list--chosen { background: $block-cursor-background; text-style: bold; }
        & > .config-list--dim { color: $text-muted; }
    }
    """

    def __init__(self, configs: list[ConfigFile], chosen: int) -> None:
        super().__init__()
        self.configs = configs
        self.chosen = chosen

    @property
    def shown(self) -> range:
        """Numbers of the configurations on the screen: the dialog leaves room for the description."""
        count = min(len(self.configs), max(_LEAST_SHOWN, self.app.size.height - _OTHER_ROWS))
        first = max(0, min(self.chosen - count // 2, len(self.configs) - count))
        return range(first, first + count)

    def render(self) -> Text:
        names = {at: self.configs[at].path.stem for at in self.shown}
        width = max(map(len, names.values()), default=0)
        dim = tone(self, "config-list--dim")
        lines: list[Text] = []
        for at, name in names.items():
            mark = "› " if at == self.chosen else "  "
            line = Text(f"{mark}{name:<{width}}  ", no_wrap=True).append(self.configs[at].headline, dim)
            line.truncate(self.content_size.width, overflow="ellipsis", pad=True)
            if at == self.chosen:
                line.stylize(self.get_component_rich_style("config-list--chosen", partial=True))
            lines.append(line)
        return Text("\n").join(lines) if lines else Text("no configs/*.yaml in this folder: type a path", dim)

    def get_content_height(self, container, viewport, width: int) -> int:  # type: ignore[no-untyped-def]
        return max(1, len(self.shown))

    def choose(self, at: int) -> Path | None:
        """Choose another; returns its path."""
        if not self.configs:
            return None
        self.chosen = max(0, min(at, len(self.configs) - 1))
        self.refresh()
        return self.configs[self.chosen].path

    def on_click(self, event: events.Click) -> None:
        if event.y < len(self.shown):
            path = self.choose(self.shown[event.y])
            self.screen.query_one("#config-path", Input).value = str(path)


class NewRunScreen(ModalScreen[RunDirectory | None]):
    """The result is the folder of a prepared run, or None."""

    CSS_PATH = "new_run.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings(NEW_RUN)
    HELP = """\
# New run

Choose a configuration of `configs/` or type the path of one. *Changes* sets fields of it, separated by spaces:
`online.L=4 task.eval_size=50`. All values that are wrong are shown before the run starts.
"""

    path_input = query_one("#config-path", Input)
    set_input = query_one("#config-set", Input)
    message = query_one("#config-message", Static)

    def __init__(self, config: Path | None = None, outputs: Path | None = None) -> None:
        super().__init__()
        self._configs = find_configs()
        given = config or (self._configs[0].path if self._configs else Path("configs/demo.yaml"))
        self._given = given
        self._outputs = outputs
        self._busy = False

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "New run"
            yield Label(id="config-count")
            yield ConfigList(self._configs, self._number(self._given))
            yield Input(str(self._given), placeholder="path of a YAML file", id="config-path")
            yield Label("Changes (optional)")
            yield Input(placeholder="task.eval_size=20 online.L=4", id="config-set")
            with VerticalScroll(id="config-scroll", can_focus=False):  # tab goes from field to field
                yield Static(id="config-message", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        self.path_input.focus()
        self._describe()

    def _number(self, path: Path) -> int:
        return next((i for i, config in enumerate(self._configs) if config.path == path), -1)

    def _describe(self) -> None:
        """Show the description of the configuration."""
        self.remove_class("-wrong")
        chosen, count = self.query_one(ConfigList).chosen + 1, len(self._configs)
        place = f"  {chosen} of {count}" if chosen else ""
        self.query_one("#config-count", Label).update(f"Configuration{place}")
        about = leading_comment(Path(self.path_input.value).expanduser())
        text = Text(about or "This file has no description.", "" if about else "dim")
        self.message.update(text.append("\n\nPress enter to start.", "bold"))

    @on(Input.Changed, "#config-path")
    def _path_changed(self, event: Input.Changed) -> None:
        configs = self.query_one(ConfigList)
        configs.chosen = self._number(Path(event.value))
        configs.refresh()
        self._describe()

    # ------------------------------------------------------------ actions

    def action_choose(self, by: int) -> None:
        """Another configuration."""
        configs = self.query_one(ConfigList)
        path = configs.choose(configs.chosen + by)
        if path is not None:
            self.path_input.value = str(path)
            self.path_input.cursor_position = len(self.path_input.value)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Scrolling needs a description that is too long for the dialog."""
        return self.query_one("#config-scroll").max_scroll_y > 0 if action == "page" else True

    def action_page(self, by: int) -> None:
        """Scroll the description of the configuration."""
        box = self.query_one("#config-scroll")
        box.scroll_page_down(animate=False) if by > 0 else box.scroll_page_up(animate=False)

    def action_close(self) -> None:
        """Close without starting a run."""
        self.dismiss(None)

    def action_menuconfig(self) -> None:
        """Edit the .config that the configuration names, then check the new values."""
        path = Path(self.path_input.value.strip()).expanduser()
        config = named_kconfig(path)
        if config is None:
            self.message.update(
                "This configuration names no .config file. Add to it:\n\nevolution: {kconfig: .config}"
            )
            return
        menu = [sys.executable, "-m", "menuconfig", str(INSTALLED / "Kconfig")]
        try:
            with self.app.suspend():
                subprocess.run(menu, env=os.environ | {"KCONFIG_CONFIG": str(config)}, check=False)
        except SuspendNotSupported:
            self.notify("menuconfig cannot run in this terminal: run `make menuconfig` in another terminal.")
            return
        self._check(path, self.set_input.value, config)

    @work(thread=True, exit_on_error=False)
    def _check(self, path: Path, changes: str, config: Path) -> None:
        from engine.config.file import load_config

        try:
            load_config(path, _changes(changes))
        except Exception as error:
            self.app.call_from_thread(self._refuse, error)
        else:
            text = f"All values of {config} are right.\n\nPress enter to start."
            self.app.call_from_thread(self.message.update, text)

    def action_start(self) -> None:
        """Read the configuration and make the run's folder."""
        if self._busy:
            return
        self._busy = True
        self.remove_class("-wrong")
        self.message.update("Reading the configuration …")
        self._prepare(self.path_input.value.strip(), self.set_input.value)

    @work(thread=True, exit_on_error=False)
    def _prepare(self, path: str, changes: str) -> None:
        """In a thread, since the import of pydantic takes a moment."""
        from app.runs.client import prepare_run

        try:
            outputs = None if self._outputs is None else str(self._outputs)
            directory = prepare_run(Path(path).expanduser(), _changes(changes), outputs=outputs)
        except Exception as error:
            self.app.call_from_thread(self._refuse, error)
        else:
            self.app.call_from_thread(self.dismiss, directory)

    def _refuse(self, error: Exception) -> None:
        self._busy = False
        self.add_class("-wrong")
        self.message.update(fault_table(Fault.of_error("", error)))
        self.query_one("#config-scroll").scroll_home(animate=False)
        self.call_after_refresh(self.refresh_bindings)


def _changes(text: str) -> list[str]:
    """`a=1 b="x y"` as a list. Raises ConfigError where a quote is open."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ConfigError(
            [Problem("changes", text, f"field=value, separated by spaces ({error})")]
        ) from error
