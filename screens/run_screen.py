"""What all screens of one run have in common: header, stages, time line, engine keys, and when to draw."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from textual import work
from textual.app import ComposeResult

from app.keys.commands import METHOD_KEYS, RUN, RUN_WITHOUT_KEY, TIMELINE, bindings
from app.textual_internals import terminal_busy
from app.wording.text import counted
from engine.errors import SteerError
from screens.messages import ResumeRequested, SystemRequested
from screens.method_progress import active_method
from screens.noting import NotingScreen
from screens.panels.error_panel import ErrorPanel, Fault
from screens.run_session import Session, at_rest, engine_state, shown_stages
from screens.systems import systems_of
from screens.widgets.key_line import KeyLine
from screens.widgets.model_line import ModelLine
from screens.widgets.run_header import RunHeader
from screens.widgets.stage_bar import StageBar
from screens.widgets.timeline import Timeline

_OF_TIMELINE = [command.action for command in TIMELINE]
FRAMES = 2.0
"""Drawings a second of what nobody asked for."""
POLL_SECONDS = 0.1
_ATTENTION = 1.0
"""Seconds after another moment was asked for in which everything is drawn at once."""


class RunScreen(NotingScreen):
    """Base of the screens of one run. A subclass says `TITLE_WORD`, gives its widgets in `compose_body` (between
    the stages and the time line) and draws `self.session.state` in `show`.

    `show` is called `FRAMES` times a second, at once when another moment was asked for; only while the screen is
    visible and something changed: new events, another cursor, frozen or not. Return True from `busy` to be called
    again although nothing changed (unfinished drawing).

    The keys are all in `app.keys.commands`; a subclass adds its own to `BINDINGS` (Textual merges them) and its text to
    `HELP`. Stages and time line are shown while something works or the view is in the past.
    """

    BINDINGS = bindings(RUN, METHOD_KEYS, TIMELINE)
    PALETTE = RUN_WITHOUT_KEY
    TITLE_WORD = ""
    DEFAULT_CSS = """
    RunScreen.-at-rest { & > StageBar, & > Timeline { display: none; } }
    """
    following = False
    """Whether the screen goes where the work is."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.set_class(at_rest(session), "-at-rest")
        self._drawn: object = None
        self._drawn_at = self._asked_at = 0.0
        self._moment: object = None
        self._offered: object = None
        self._opened_at = time.time()
        self._failure_read = 0.0

    def compose_content(self) -> ComposeResult:
        yield RunHeader(self.session, self.TITLE_WORD)
        yield StageBar(self.session)
        yield ModelLine(self.session)
        yield from self.compose_body()
        yield Timeline(self.session)
        yield KeyLine()

    def compose_body(self) -> ComposeResult:
        """The widgets of this screen."""
        yield from ()

    def show(self) -> None:
        """Draw the session's state."""

    @property
    def busy(self) -> bool:
        """Whether `show` has work left over."""
        return False

    def on_mount(self) -> None:
        self.set_interval(POLL_SECONDS, self._tick)
        self.call_after_refresh(self.poll)

    def on_resize(self) -> None:
        """Another size has room for more or less: draw again."""
        self.call_after_refresh(self._frame_changed)

    def _tick(self) -> None:
        """Time has passed: draw if it is time for it."""
        now, moment = time.monotonic(), (self.session.cursor, self.session.frozen)
        if moment != self._moment and not self.query_one(Timeline).replaying:
            self._asked_at = now
        self._moment = moment
        due = now - self._drawn_at >= 1 / FRAMES - POLL_SECONDS / 2
        if (due or self.busy or now - self._asked_at < _ATTENTION) and not terminal_busy(self.app):
            self.poll()

    def poll(self) -> None:
        """Draw if anything changed."""
        if not self.is_current or not (self.app.screen is self or self.app.screen.is_modal):
            return
        session = self.session
        session.update()
        self._notify_user()
        self._go_with_the_work()
        self.look_at_notes()
        now = (session.revision, session.frozen, session.behind, session.cursor)
        if now != self._drawn or self.busy:
            self._drawn, self._drawn_at = now, time.monotonic()
            self._show_frame()
            self.show()

    def _notify_user(self) -> None:
        """Show the session's messages, and a failure that happens while the screen is open."""
        for message in self.session.take_messages():
            self.notify(message.text, severity=message.severity, markup=False)
        failure = self.session.state.failure
        if failure is None:
            self._failure_read = 0.0
        elif failure.time > max(self._opened_at, self._failure_read) and self.session.cursor is None:
            self._failure_read = failure.time
            self.action_show_error()

    def view(self) -> dict[str, Any]:
        """How the screen is left: what it needs to be taken up again."""
        return {}

    def _go_with_the_work(self) -> None:
        """While following: show the method at work."""
        session = self.session
        if self.following and session.cursor is None and not session.frozen:
            name = active_method(shown_stages(session))
            if name is not None and name != self.TITLE_WORD:
                self.post_message(SystemRequested(name, followed=True))

    def _show_frame(self) -> None:
        session, resting = self.session, at_rest(self.session)
        self.set_class(resting, "-at-rest")
        self.query_one(RunHeader).refresh()
        self.query_one(StageBar).refresh()
        self.query_one(ModelLine).update()
        self.query_one(Timeline).refresh()
        offered = (
            engine_state(session),
            resting,
            session.frozen,
            session.cursor is not None,
            session.stop_requested,
            len(session.state.stages),
        )
        if offered != self._offered:
            self._offered = offered
            self.refresh_bindings()

    # ------------------------------------------------------------ which keys there are

    def names_of_actions(self) -> dict[str, str]:
        """What the commands with a number lead to."""
        methods = enumerate(systems_of(self.session.state.stages), 1)
        return {f"method({number})": method.title for number, method in methods}

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether the key does something now."""
        engine = engine_state(self.session)
        match action:
            case "freeze":
                in_past = self.session.frozen or self.session.cursor is not None
                return not in_past and not at_rest(self.session)
            case "thaw":
                return self.session.frozen
            case "stop_at" | "replay" | "speed" | "seek_start":
                return not at_rest(self.session)
            case "seek_live":
                return self.session.cursor is not None
            case "pause":
                return engine in ("running", "hung")
            case "continue_engine":
                return engine == "paused"
            case "stop" | "stopping":
                asked = self.session.stop_requested == (action == "stopping")
                return asked and engine in ("running", "paused", "hung")
            case "resume":
                return engine in ("stopped", "interrupted", "failed")
            case "start":
                return engine == "prepared"
            case "show_error":
                return self._fault() is not None
            case "method":
                return parameters[0] in range(1, len(systems_of(self.session.state.stages)) + 1)
            case "overview":
                return self.TITLE_WORD != "Overview"
            case "mark_item" | "export_item":
                return self.noted_offset() is not None
            case "follow_work" | "leave_work":
                return self.following == (action == "leave_work") and engine in ("running", "paused")
            case _:
                return True

    def what_allows(self, action: str) -> str:
        """What has to be done before a command of the time line."""
        return ", press [ first" if at_rest(self.session) and action in _OF_TIMELINE else ""

    # ------------------------------------------------------------ the view

    def action_freeze(self) -> None:
        """Freeze the view."""
        self.session.freeze()
        self.poll()

    def action_step_event(self, by: int) -> None:
        """Event by event."""
        self.query_one(Timeline).step(by)

    def action_stop_at(self, by: int) -> None:
        """Decision by decision."""
        self.query_one(Timeline).stop_at(by)

    def action_replay(self) -> None:
        """Play or halt."""
        self.query_one(Timeline).toggle_replay()

    def action_speed(self) -> None:
        """Play faster."""
        self.query_one(Timeline).next_speed()

    def action_seek_start(self) -> None:
        """To the first event."""
        self.session.seek(0)
        self.poll()

    def action_seek_live(self) -> None:
        """To the end; follow the run."""
        self.query_one(Timeline).halt()
        self.session.seek(None)
        self.poll()

    action_thaw = action_seek_live

    # ------------------------------------------------------------ the engine

    def action_pause(self) -> None:
        """Pause the engine."""
        self.session.send("pause")

    def action_continue_engine(self) -> None:
        """End the pause."""
        self.session.send("continue")

    def action_stop(self) -> None:
        """Stop the engine."""
        self.session.send("stop")
        self._frame_changed()

    def action_stopping(self) -> None:
        """A second stop changes nothing."""
        self.notify("A stop was asked for: the engine stops after its current item.")

    def action_resume(self) -> None:
        """Ask for a worker."""
        self.post_message(ResumeRequested(self.session.run_dir))

    action_start = action_resume

    def action_method(self, number: int) -> None:
        """Ask for the screen of a method, by its number in the header."""
        self.post_message(SystemRequested(systems_of(self.session.state.stages)[number - 1].title))

    def action_overview(self) -> None:
        """Ask for the overview."""
        self.post_message(SystemRequested("Overview"))

    def action_search(self) -> None:
        """Find rows of all methods by words."""
        from screens.panels.search import SearchScreen  # only those who search need it

        self.app.push_screen(SearchScreen(self.session))

    def action_follow_work(self) -> None:
        """Go where the work is, from now on."""
        self.following = True
        self._frame_changed()

    def action_leave_work(self) -> None:
        """Stay here."""
        self.following = False
        self._frame_changed()

    def _frame_changed(self) -> None:
        self._drawn = self._offered = None
        self.poll()

    def action_show_error(self) -> None:
        """Read what went wrong."""
        if (fault := self._fault()) is not None:
            live = self.session.cursor is None
            self.app.push_screen(ErrorPanel(fault, self.session.run_dir if live else None))

    def action_levers(self) -> None:
        """Ask a question with each lever on or off."""
        from screens.levers.screen import LeversScreen  # only those who ask need it

        self.app.push_screen(LeversScreen(self.session))

    def action_write_report(self) -> None:
        """Write the report on the run."""
        from screens.exports import write_report  # only those who export need it

        self.notify("The report is being written.")
        self.write_files(partial(write_report, self.session.run_dir))

    @work(thread=True, exclusive=True, group="export", exit_on_error=False)
    def write_files(
        self, write: Callable[[], Sequence[object]], title: str = "HTML and Markdown written"
    ) -> None:
        """Write files and say which; charts beside pages are counted: their names would fill a small screen."""
        try:
            files = write()
        except (OSError, SteerError) as error:
            self.notify(f"Nothing was written: {error}", severity="error", markup=False)
            return
        pages = [str(file) for file in files if not str(file).endswith(".svg")]
        charts = len(files) - len(pages)
        beside = [f"and {counted(charts, 'charts')} beside them"] if charts else []
        self.notify("\n".join([*pages, *beside] if pages else map(str, files)), title=title, markup=False)

    def _fault(self) -> Fault | None:
        """What went wrong: from the log, else from the run's folder."""
        failure = self.session.state.failure
        if failure is not None:
            return Fault.of_failure(failure)
        status = self.session.status
        return Fault.of_status(status) if status is not None and status.failure else None
