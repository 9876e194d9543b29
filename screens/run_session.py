"""What a screen needs of its run: the state at the moment looked at, and commands to the engine."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from app.runs.time_left import Earlier, TimeLeft, time_left
from app.state.event_index import EventIndex
from app.state.run import RunState
from engine.events import Event
from engine.run.directory import STARTING, RunStatus
from engine.run.stage_state import FINISHED, SKIPPED, STOPPED, StageState

if TYPE_CHECKING:
    from app.runs.orders import UserMessage  # with all that reads logs; not before the first paint


class Session(Protocol):
    """A run being watched, live or replayed. Screens look at `revision` and draw `state` when it changed;
    they keep no reference into a state, which may be another after seeking."""

    @property
    def run_dir(self) -> Path:
        """The run's folder."""
        ...

    @property
    def state(self) -> RunState:
        """The run at the moment looked at."""
        ...

    @property
    def status(self) -> RunStatus | None:
        """The status of its worker; None before the first look."""
        ...

    @property
    def earlier(self) -> Earlier:
        """How long its stages took in earlier runs with the same configuration."""
        ...

    @property
    def index(self) -> EventIndex:
        """Marks and stops of the log."""
        ...

    @property
    def revision(self) -> int:
        """Another number whenever what is shown is another."""
        ...

    @property
    def cursor(self) -> int | None:
        """Number of the event up to which the state is folded; None: the live end."""
        ...

    @property
    def total_events(self) -> int:
        """Events in the log so far."""
        ...

    @property
    def behind(self) -> int:
        """Events that are in the log and not in the state."""
        ...

    @property
    def reading(self) -> float | None:
        """Share of a long log that is read, 0 to 1; None when little is left."""
        ...

    @property
    def frozen(self) -> bool:
        """Whether the view is frozen while the engine may continue."""
        ...

    @property
    def stop_requested(self) -> bool:
        """Whether a stop was asked for here and the worker has not stopped yet."""
        ...

    def update(self) -> bool:
        """Show the newest state that may be shown; whether it differs from before."""
        ...

    def take_messages(self) -> list[UserMessage]:
        """The messages for the user since the last call."""
        ...

    def seek(self, seq: int | None) -> None:
        """Look at another moment."""
        ...

    def freeze(self) -> None:
        """Freeze the view."""
        ...

    def thaw(self) -> None:
        """Back to the live end."""
        ...

    def send(self, command: str) -> None:
        """Ask the engine to pause, continue or stop."""
        ...

    def read(self, offset: int, length: int) -> Event:
        """An event of the log, whole."""
        ...


def engine_state(session: Session) -> str:
    """What the engine does now, whatever moment is shown: `RunStatus.state`."""
    return session.state.status if session.status is None else session.status.state


def at_rest(session: Session) -> bool:
    """Whether nothing works and the end is shown: then stages and time line have nothing to add."""
    works = engine_state(session) in ("running", "paused", "hung", "prepared", STARTING)
    return not (works or session.frozen or session.cursor is not None or session.reading is not None)


def run_time_left(session: Session) -> TimeLeft | None:
    """How long all stages will take; None unless the run works now and is shown as it is now."""
    state = session.state
    if engine_state(session) != "running" or session.cursor is not None or session.reading is not None:
        return None
    return time_left(state.stages.values(), session.earlier)


def work_over(session: Session, stages: Collection[str]) -> bool:
    """Whether all that these stages did is shown and no more comes: they are finished, or the run came to its end. Of
    one that broke off, the newest row says where."""
    if session.cursor is not None:
        return False
    if engine_state(session) in ("finished", "stopped"):
        return not session.behind
    state = session.state
    done = [stage.status in (FINISHED, SKIPPED) for stage in state.stages.values() if stage.name in stages]
    return bool(done) and all(done)


def reading_words(session: Session) -> str:
    """What is said of an empty table or of a page while a long log is still read; nothing else."""
    share = session.reading
    return "" if share is None else f"The log is still being read ({share:.0%}): more may stand here soon."


def shown_stages(session: Session) -> list[StageState]:
    """The stages at the moment looked at; at the log's end, a stage whose worker vanished counts as stopped."""
    shown = list(session.state.stages.values())
    vanished = session.status is not None and session.status.state == "interrupted"
    if not vanished or session.cursor is not None or session.frozen:
        return shown
    return [replace(stage, status=STOPPED) if stage.active else stage for stage in shown]
