"""A stage's context outside of a worker: it emits no events, and nobody stops it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from engine.config.file import load_config
from engine.config.models.model import ModelSection
from engine.lm.loading.load import load_model
from engine.lm.protocol import LanguageModel
from engine.run.directory import RunDirectory
from engine.run.stage import StageContext
from engine.servers.known_servers import KnownServers
from engine.servers.usage import UsageBook


@cache
def _loaded(section: str) -> LanguageModel:
    return load_model(ModelSection.model_validate_json(section))


def shared_model(section: ModelSection) -> LanguageModel:
    """The model of a section, loaded once in this process. Raises SteerError."""
    return _loaded(section.model_dump_json())


def run_context(run_dir: Path, stage: str) -> StageContext:
    """What the run's configuration names, for what belongs to `stage`. Raises SteerError."""
    return StageContext(
        stage=stage,
        config=load_config(RunDirectory(run_dir).config),
        run_dir=run_dir,
        emit=lambda event: None,
        checkpoint=lambda: None,
        load_model=shared_model,
        servers=KnownServers(UsageBook(run_dir)),
    )
