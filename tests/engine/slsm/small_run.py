"""A context in which parts of the stage run by themselves: its configuration, a folder, what it says."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engine.config.config import Config
from engine.events import ConversationAnswered, Event
from engine.run.keyed_records import KeyedRecords
from engine.run.stage import StageContext
from engine.slsm import layout
from engine.slsm.controllers.controller import MemoryController
from engine.slsm.controllers.state_tracking import StateTracker
from engine.slsm.records import StateRecord
from engine.slsm.turns import Conversation, Turn


def small_config(**slsm: Any) -> Config:
    """The defaults with the offline controller, and these fields of the section."""
    return Config.model_validate({"slsm": {"controller": {"kind": "rules"}} | slsm})


def small_context(folder: Path, events: list[Event], **slsm: Any) -> StageContext:
    """Without a model."""
    layout.folder(folder).mkdir(parents=True, exist_ok=True)
    return StageContext("slsm", small_config(**slsm), folder, events.append, lambda: None, None)  # type: ignore[arg-type]


def tracked(context: StageContext, controller: MemoryController) -> StateTracker:
    """Its states are the run's."""
    states = KeyedRecords(layout.states(context.run_dir), StateRecord, StateRecord.key)
    return StateTracker(context, controller, states)


def answers_of(events: Iterable[Event]) -> list[ConversationAnswered]:
    """Each answer as it was reported last: a judge that takes its time comes later."""
    last = {
        (e.conversation_id, e.mode, e.memory_mode, e.attempt): e
        for e in events
        if isinstance(e, ConversationAnswered)
    }
    return list(last.values())


def conversation(key: str, *said: str, axis: str = "") -> Conversation:
    """Of user and assistant in turns; the last word is the user's."""
    answers: list[str | None] = [*said[1::2], None]
    return Conversation(
        key, tuple(Turn(user, answer) for user, answer in zip(said[::2], answers, strict=True)), axis
    )
