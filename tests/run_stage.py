"""A stage run in this process, without worker or log: its events, or whatever it raises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.config import Config
from engine.events import Event
from engine.lm.protocol import LanguageModel
from engine.stage import Stage, StageContext


def run_stage(
    stage: Stage, config: Config, folder: Path, model: LanguageModel | Callable[[], LanguageModel]
) -> list[Event]:
    """Run `stage` on the run directory `folder`; returns what it logged."""
    events: list[Event] = []
    load = model if callable(model) else lambda: model
    stage.run(StageContext(stage.name, config, folder, events.append, lambda: None, load))
    return events
