"""A stage run in this process, without worker or log: its events, or whatever it raises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.config.config import Config
from engine.config.models.model import ModelSection
from engine.config.stages import STAGES
from engine.events import Event
from engine.lm.loading.load import load_model
from engine.lm.protocol import LanguageModel
from engine.run.stage import Stage, StageContext, StageResult
from engine.scale.work import Spread, in_process


def run_stage(
    stage: Stage,
    config: Config,
    folder: Path,
    model: LanguageModel | Callable[[], LanguageModel] | None = None,
    spread: Spread = in_process,
    results: list[StageResult] | None = None,
) -> list[Event]:
    """Run `stage` on the run directory `folder`, with `model` or the configured one; returns what it logged. `spread`
    says where its work is done; `results` gets the stage's result."""
    events: list[Event] = []

    def load(section: ModelSection) -> LanguageModel:
        if model is None:
            return load_model(section)
        return model() if callable(model) else model

    context = StageContext(name_of(stage), config, folder, events.append, lambda: None, load, spread=spread)
    result = stage.run(context)
    if results is not None:
        results.append(result)
    return events


def name_of(stage: Stage) -> str:
    """What a configuration calls the stage."""
    target = f"{type(stage).__module__}:{type(stage).__name__}"
    return next((entry.name for entry in STAGES.values() if entry.target == target), target)
