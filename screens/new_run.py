"""The dialog that starts a run: choose or type a configuration and change fields of it; shows all that is wrong."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.getters import query_one
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input, Label, Static

from app.keys.commands import NEW_RUN, bindings
from app.runs.configs import find_configs, leading_comment
from app.runs.start_check import StartCheck, check_start
from app.runs.start_form import StartForm, field_problem_words, split_changes
from app.runs.sweeps import prepare_planned
from app.wording.text import counted
from engine.errors import ConfigError
from engine.run.directory import RunDirectory
from screens.panels.error_panel import Fault, fault_table
from screens.widgets.key_line import KeyLine
from screens.widgets.line_list import LineList
from screens.widgets.tones import tone
from screens.worker_errors import TellsWorkerErrors

_PATIENCE = 0.3
"""Seconds without a key before what is typed is checked."""


class NewRunScreen(TellsWorkerErrors, ModalScreen[RunDirectory | Path | None]):
    """The result is a prepared run, the folder of a prepared sweep, or None."""

    CSS_PATH = "new_run.tcss"
    VERTICAL_BREAKPOINTS = [(0, "-low"), (36, "-high")]
    BINDINGS = bindings(NEW_RUN)
    HELP = """\
# New run

`↑` `↓` choose a configuration of `configs/`; `tab` goes to the field with its path, where the path of another file can
be typed. *Changes* sets fields over the file, separated by spaces: `online.L=4 task.eval_size=50`. The file itself is
never changed.

A field with several values makes a sweep, a run for each combination: `online.L=3,5,8`, `online.k_scale=0.5..4:4` (four
values from 0.5 to 4), `run.seed=0..2`.

While you type, the new run is checked: what differs from the file, values that are wrong, packages and files that are
not here. `enter` starts it; where something is wrong, nothing is started and no folder is made. `^o` shows all fields
with their help; what is changed there is added to *Changes*.
"""

    list = query_one(LineList)
    path_input = query_one("#config-path", Input)
    set_input = query_one("#config-set", Input)
    message = query_one("#config-message", Static)

    def __init__(
        self, config: Path | None = None, outputs: Path | None = None, changes: Sequence[str] = ()
    ) -> None:
        super().__init__()
        self._changes = shlex.join(changes)
        self._configs = find_configs()
        self._given = config or (self._configs[0].path if self._configs else Path("configs/demo.yaml"))
        self._outputs = outputs
        self._busy = False
        self._waiting: Timer | None = None
        self._agreed: tuple[Path, str] | None = None
        """What was typed when the user was shown what is lacking: enter again starts it."""

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "New run"
            yield Label(id="config-count")
            yield LineList()
            yield Input(str(self._given), placeholder="path of a YAML file", id="config-path")
            yield Label("Changes (optional)")
            yield Input(self._changes, placeholder="such as task.eval_size=20 online.L=4", id="config-set")
            with VerticalScroll(id="config-scroll", can_focus=False):  # tab goes from field to field
                yield Static(id="config-message", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        self.list.can_focus = False  # its keys are the dialog's
        for name in ("scroll_y", "virtual_size"):  # there is more below, or nothing any more
            self.watch(self.query_one("#config-scroll"), name, self.refresh_bindings, init=False)
        self.set_input.focus()
        self._show_configs()
        self._describe()
        self._poll()

    def _show_configs(self) -> None:
        """The list, with the cursor on what is typed if it is one of them."""
        width, dim = max((len(config.path.stem) for config in self._configs), default=0), tone(self, "dim")
        lines = [Text(f"{each.path.stem:<{width}}  ").append(each.headline, dim) for each in self._configs]
        chosen = next((at for at, config in enumerate(self._configs) if config.path == self.path), None)
        self.list.show(lines, chosen)

    @property
    def path(self) -> Path:
        """The configuration's file, as it is typed now."""
        return Path(self.path_input.value.strip()).expanduser()

    # ------------------------------------------------------------ what it would start

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        if event.input is self.path_input:
            self._show_configs()
        self._describe()
        if self._waiting is not None:
            self._waiting.stop()
        self._waiting = self.set_timer(_PATIENCE, self._poll)

    def _describe(self, check: StartCheck | None = None) -> None:
        """Show what the check found, and the description of the configuration."""
        self.remove_class("-wrong")
        count, at = len(self._configs), self.list.highlighted
        place = "" if at is None else f"  {at + 1} of {count}"
        none = "" if count else "  no configs/*.yaml in this folder: type a path"
        self.query_one("#config-count", Label).update(f"Configuration{place}{none}")
        summary = Text("checking …", "dim") if check is None else check_text(check)
        parts = [summary] if summary.plain else []
        if check is None or check.error is None:
            parts.append(Text("Press enter to start.", "bold"))
        if about := leading_comment(self.path):  # last: it may be longer than there is room
            parts.append(Text(about))
        self.message.update(Text("\n\n").join(parts))

    @work(thread=True, exclusive=True, group="check", exit_on_error=False)
    def _poll(self) -> None:
        """Check what is typed. In a thread, since the import of pydantic takes a moment."""
        typed = (self.path, self.set_input.value)
        check = _checked(*typed)
        self.app.call_from_thread(self._show_check, typed, check)

    def _show_check(self, typed: tuple[Path, str], check: StartCheck) -> None:
        if typed == (self.path, self.set_input.value) and not self._busy and not self.has_class("-wrong"):
            self._describe(check)

    # ------------------------------------------------------------ actions

    def action_choose(self, by: int) -> None:
        """Another configuration."""
        at = self.list.highlighted
        self.list.highlighted = 0 if at is None else at + by
        self._take_config()

    @on(LineList.OptionSelected)
    def _take_config(self) -> None:
        if (at := self.list.highlighted) is not None:
            self.path_input.value = str(self._configs[at].path)
            self.path_input.cursor_position = len(self.path_input.value)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Scrolling needs a description of which there is more."""
        box = self.query_one("#config-scroll")
        return action != "page" or (
            box.scroll_y < box.max_scroll_y if parameters == (1,) else box.scroll_y > 0
        )

    def action_page(self, by: int) -> None:
        """Scroll the description of the configuration."""
        box = self.query_one("#config-scroll")
        box.scroll_page_down(animate=False) if by > 0 else box.scroll_page_up(animate=False)

    def action_close(self) -> None:
        """Close without starting a run."""
        self.dismiss(None)

    def action_form(self) -> None:
        """All fields."""
        from screens.start_form import StartFormScreen

        try:
            form = StartForm(self.path, split_changes(self.set_input.value))
        except ConfigError as error:
            self._refuse(error)
            return
        self.app.push_screen(StartFormScreen(form), self._take)

    def _take(self, changes: list[str] | None) -> None:
        """These are the changes from now on."""
        if changes is not None:
            self.set_input.value = shlex.join(changes)
            self.set_input.cursor_position = len(self.set_input.value)
            self.set_input.focus()

    def action_start(self) -> None:
        """Check the configuration, and make the run's folder."""
        if self._busy:
            return
        self._busy = True
        self.remove_class("-wrong")
        self.message.update("Reading the configuration …")
        self._prepare(self.path, self.set_input.value)

    @work(thread=True, exit_on_error=False)
    def _prepare(self, path: Path, changes: str) -> None:
        """In a thread, since the import of pydantic takes a moment."""
        from app.runs.client import prepare_run

        try:
            check = _checked(path, changes)
            if check.error is not None:
                raise check.error
            if check.wrong or (check.lacking and self._agreed != (path, changes)):
                self.app.call_from_thread(self._object, (path, changes), check)
                return
            outputs = None if self._outputs is None else str(self._outputs)
            if check.sweep is not None:
                result = prepare_planned(path, check.sweep, outputs)
            else:
                result = prepare_run(path, split_changes(changes), outputs=outputs)
        except Exception as error:
            self.app.call_from_thread(self._refuse, error)
        else:
            self.app.call_from_thread(self.dismiss, result)

    def _object(self, typed: tuple[Path, str], check: StartCheck) -> None:
        """Do not start: say what must be corrected, or what is lacking; the latter may be started all the same."""
        self._agreed = None if check.wrong else typed
        last = "Not started: correct this first."
        if not check.wrong:
            last = "Not started: a stage would fail for this. Press enter again to start it all the same."
        self._show_wrong(Text("\n\n").join([check_text(check), Text(last, "bold")]))

    def _refuse(self, error: Exception) -> None:
        self._show_wrong(fault_table(Fault.of_error("", error)))

    def _show_wrong(self, words: RenderableType) -> None:
        self._busy = False
        self.add_class("-wrong")
        self.message.update(words)
        self.query_one("#config-scroll").scroll_home(animate=False)


def _checked(path: Path, changes: str) -> StartCheck:
    try:
        return check_start(path, split_changes(changes))
    except ConfigError as error:
        return StartCheck(error=error)


def check_text(check: StartCheck) -> Text:
    """What differs from the file and what does not, what is wrong, what is not here."""
    lines: list[Text] = []
    if check.error is not None:
        lines += [Text(f"✗ {field_problem_words(problem)}") for problem in check.error.problems]
    lines += [Text(f"✗ {finding.where}: {finding.what}. {finding.hint}") for finding in check.wrong]
    lines += [Text(f"! {finding.what} ({finding.where}): {finding.hint}") for finding in check.lacking]
    if check.sweep is not None:
        runs, settings = counted(check.sweep.runs, "runs"), counted(check.sweep.settings, "settings")
        lines.append(Text(f"A sweep: {runs}, {settings}, one after the other. Its first run:", "bold"))
    lines += [
        Text("≠ ").append(f"{name} ", "bold").append(f"{before} → {now}")
        for name, before, now in check.differences
    ]
    lines += [Text(f"= {name} has this value in the file already", "dim") for name in check.unchanged]
    if check.fetched:
        fetched = "; ".join(finding.what for finding in check.fetched)
        lines.append(Text(f"↓ fetched when needed: {fetched}", "dim"))
    return Text("\n").join(lines)
