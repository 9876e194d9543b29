"""The panel of a run's stages: begins one again, skips one, makes one the last, stops the one at work."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.geometry import Region
from textual.widgets import Static

from app.keys.commands import STAGES, bindings
from app.runs.command_sender import choose_for_run
from app.runs.run_list import stage_states
from app.wording.stage_words import change_words, kept_words, stage_sign, stage_words
from app.wording.words import STAGE_WORDS
from engine.errors import RunError
from engine.run.directory import RunStatus, inspect
from engine.run.stage_state import FINISHED, RUNNING, StageState
from screens.confirm import ConfirmScreen
from screens.messages import ResumeRequested
from screens.panels.session_panel import SessionPanel
from screens.run_session import Session

if TYPE_CHECKING:  # it loads all sections of the configuration
    from engine.run.stage_choices import Choice, StageChange

_BELOW = 14
"""Lines of the terminal that the list of stages leaves to everything else."""
_KEYS: dict[Choice, str] = {"again": "b", "skip": "-", "last": "Z"}


class StagesPanel(SessionPanel):
    """Drawn from the run's record, whatever moment of the log is looked at: what is chosen here is for the present."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(STAGES)
    HELP = """\
# Stages

The stages of the run, in their order; `↑` `↓` choose one. Below stands what each key would do to it, or why it cannot.

`b` begins it again *from here on*: it and the stages that rest on it are done anew, and a worker starts at once; the
run must not be running. What they left is kept in the folder `earlier/` of the run. Until they are done anew their
results are *stale* ◌ everywhere, and old results are never mixed with new ones. `-` skips ⊘ it, and with it the stages
that need it; `Z` makes it the last one: all after it are skipped. Both also work during a run; the same key on the same
stage takes it back. `S` stops the stage at work, and with it the run; `r` on the run's screen goes on there.

For scripts: `steer-tui ctl stage again|skip|last|stop RUN STAGE`.
"""
    TITLE_WORD = "Stages"
    CONTENTS = ("stages",)
    DEFAULT_CSS = """
    StagesPanel {
        & #stages { text-wrap: nowrap; text-overflow: ellipsis; }
        & #choices { padding: 0 1; border-top: solid $panel; }
    }
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._at: int | None = None

    def on_mount(self) -> None:
        self.query_one("Vertical").mount(Static(id="choices", markup=False))
        super().on_mount()

    def on_resize(self) -> None:
        self.query_one(VerticalScroll).styles.max_height = max(3, self.size.height - _BELOW)
        super().on_resize()

    def poll(self) -> None:
        """Draw; the record may have changed without an event."""
        self._session.update()
        self.draw(self._session)

    def draw(self, session: Session) -> None:
        try:
            status = inspect(session.run_dir)
        except RunError as error:
            self.query_one("#stages", Static).update(str(error))
            return
        states = list(stage_states(status).values())
        if self._at is None:
            left = (at for at, stage in enumerate(states) if stage.status != FINISHED)
            self._at = next(left, 0)
        self._at = max(0, min(self._at, len(states) - 1))
        width = max((len(stage.name) for stage in states), default=0)
        rows = [_row(stage, width, at == self._at) for at, stage in enumerate(states)]
        self.query_one("#stages", Static).update(Text("\n", no_wrap=True, overflow="ellipsis").join(rows))
        if states:
            self.query_one("#choices", Static).update(_choices(status, states[self._at].name))

    # ------------------------------------------------------------ actions

    def action_move(self, by: int) -> None:
        """To another stage."""
        self._at = (self._at or 0) + by
        self.poll()
        self.query_one(VerticalScroll).scroll_to_region(Region(0, self._at, 1, 1), animate=False)

    def action_choose(self, choice: Choice) -> None:
        """Make a choice about the stage under the cursor; to begin it again, only after it was asked."""
        run = inspect(self._session.run_dir)
        stage = list(run.record.stages)[self._at or 0]
        try:
            change = _change(run, choice, stage)
        except RunError as error:
            self.notify(str(error), severity="warning", markup=False)
            return
        if choice != "again":
            choose_for_run(self.app, run.directory, change, self.poll)
            return
        states = stage_states(run)
        text = f"{change_words(change, states)} {kept_words(change, states)} A worker starts at once."

        def asked(do_it: bool | None) -> None:
            if do_it:
                choose_for_run(self.app, run.directory, change, self._resume)

        self.app.push_screen(ConfirmScreen(f"Begin {stage} again", text), asked)

    def _resume(self) -> None:
        self.app.post_message(ResumeRequested(self._session.run_dir))
        self.poll()

    def action_stop(self) -> None:
        """Stop the stage at work."""
        self._session.send("stop")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action != "stop":
            return True
        status = self._session.status
        return status is not None and status.state in ("running", "paused", "hung")


def _row(stage: StageState, width: int, chosen: bool) -> Text:
    line = f"{stage_sign(stage)} {stage.name:<{width}}  {stage_words(stage)}"
    text = Text("› " if chosen else "  ").append(line)
    text.append(f"  {STAGE_WORDS.get(stage.name, '')}", "dim")
    text.stylize("bold reverse" if chosen else "bold" if stage.status == RUNNING else "")
    return text


def _change(run: RunStatus, choice: Choice, stage: str) -> StageChange:
    """What a key would do; the one that takes it back, where it is done already. Raises RunError where it can do
    nothing."""
    from engine.run.stage_choices import change_of

    try:
        return change_of(run.record, choice, stage, working=run.alive)
    except RunError:
        if choice != "again":
            with suppress(RunError):
                return change_of(run.record, choice, stage, undo=True, working=run.alive)
        raise


def _choices(run: RunStatus, stage: str) -> Text:
    """A line for each key."""
    text, states = Text(), stage_states(run)
    for choice, key in _KEYS.items():
        text.append(f"{key}  ", "bold")
        try:
            text.append(f"{change_words(_change(run, choice, stage), states)}\n")
        except RunError as error:
            text.append(f"{error.what}{f': {error.hint}' if choice == 'again' else ''}\n", "dim")
    if run.alive and run.record.stages[stage].status == "running":
        text.append("S  ", "bold").append("Stop: the run stops here, finished work is kept, and r goes on.\n")
    text.rstrip()
    return text
