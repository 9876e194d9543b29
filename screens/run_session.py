"""What screens ask of the session of their run. They look at its `revision` and draw its `state` when it changed; they
keep no reference into a state, which may be another after seeking."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from app.runs.session import RunSession as Session
from app.runs.time_left import TimeLeft, time_left
from engine.run.directory import STARTING
from engine.run.stage_state import FINISHED, SKIPPED, STOPPED, StageState


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
    return time_left("" if state.header is None else state.header.name, state.stages.values())


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
    vanished = session.log_is_cut or engine_state(session) == "interrupted"
    if not vanished or session.cursor is not None or session.frozen:
        return shown
    return [replace(stage, status=STOPPED) if stage.active else stage for stage in shown]
