"""The panel of a run's stages: begins one again, skips one, makes one the last, stops the one at work."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.getters import query_one

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
from screens.run_session import Session, engine_state
from screens.widgets.lazy_static import LazyStatic
from screens.widgets.line_list import LineList

if TYPE_CHECKING:  # it loads all sections of the configuration
    from engine.run.stage_choices import Choice, StageChange

_KEYS: dict[Choice, str] = {"again": "b", "skip": "-", "last": "Z"}


class StagesPanel(SessionPanel):
    """Drawn from the run's record, whatever moment of the log is looked at: what is chosen here is for the present."""

    BINDINGS = bindings(STAGES)
    TITLE_WORD = "Stages"
    DEFAULT_CSS = """
    StagesPanel {
        & LineList { max-height: 40vh; }
        & #choices { padding: 0 1; border-top: solid $panel; }
    }
    """

    lines = query_one(LineList)
    choices = query_one("#choices", LazyStatic)

    def contents(self) -> ComposeResult:
        yield LineList()

    def on_mount(self) -> None:
        self.lines.can_focus = False  # its keys are the panel's
        self.query_one(Vertical).mount(LazyStatic(id="choices"))
        super().on_mount()

    @on(LineList.OptionHighlighted)
    def poll(self) -> None:
        """Draw; the record may have changed without an event."""
        self._session.update()
        self.draw(self._session)

    def draw(self, session: Session) -> None:
        try:
            status = inspect(session.run_dir)
        except RunError as error:
            self.choices.update(str(error))
            return
        states = list(stage_states(status).values())
        if (chosen := self.lines.highlighted) is None:
            chosen = next((at for at, stage in enumerate(states) if stage.status != FINISHED), 0)
        width = max((len(stage.name) for stage in states), default=0)
        self.lines.show([_row(stage, width) for stage in states], chosen)
        if states:
            self.choices.update(_choices(status, states[chosen].name))

    # ------------------------------------------------------------ actions

    def action_move(self, by: int) -> None:
        """To another stage."""
        self.lines.highlighted = (self.lines.highlighted or 0) + by

    def action_choose(self, choice: Choice) -> None:
        """Make a choice about the stage under the cursor; to begin it again, only after it was asked."""
        try:
            run = inspect(self._session.run_dir)
            stage = [*run.record.stages, ""][self.lines.highlighted or 0]
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
        return action != "stop" or engine_state(self._session) in ("running", "paused", "hung")


def _row(stage: StageState, width: int) -> Text:
    text = Text(f"{stage_sign(stage)} {stage.name:<{width}}  {stage_words(stage)}")
    text.append(f"  {STAGE_WORDS.get(stage.name, '')}", "dim")
    text.stylize("bold" if stage.status == RUNNING else "")
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
        text.append("S  ", "bold").append("Stop: the run stops here, finished work is kept, and r goes on.")
    text.rstrip()
    return text
