"""A small evolution, offline, on the model that comes along; and the files that it leaves."""

from __future__ import annotations

from pathlib import Path

from engine.config.config import Config
from engine.config.evolution import ClustersSection, EvolutionSection
from engine.config.models.model import ModelSection
from engine.config.run import RunSection
from engine.evolution.evolve_stage import Evolve
from engine.lm.protocol import LanguageModel
from engine.run.stage import StageContext, StageResult
from tests.offline_evolution import offline

MODEL = ModelSection(device="cpu", path="statements")
NOTHING_COMPARED: dict[str, object] = {"test_size": 0, "brief_prompts": [], "length_caps": 0}
"""Half of the questions are those of the comparison at the end."""
EMPTY_REPLY = {"the reply is empty": ""}
"""What was wrong with a refused reply, and its text."""


def configured(**changes: object) -> Config:
    fields: dict[str, object] = {
        "iterations": 3,
        "minibatch_size": 6,
        "best_by": "validation",
        "validation_size": 8,
        "test_size": 5,
        "pool_size": 30,
        "batch_size": 8,
        "max_new_tokens": 60,
        "brief_prompts": ["Be brief."],
        "length_caps": 4,
    }
    return Config(
        run=RunSection(stages=["clusters", "evolve"]),
        model=MODEL,
        clusters=ClustersSection(embedder="hashed", k=6, frequency_texts=8),
        evolution=EvolutionSection(**offline({**fields, **changes})),  # type: ignore[arg-type]
    )


def finish_stage(folder: Path, config: Config, model: LanguageModel) -> StageResult:
    """What the stage itself says came of it."""
    context = StageContext("evolve", config, folder, lambda event: None, lambda: None, lambda section: model)
    return Evolve().run(context)


def artefacts(run: Path) -> dict[str, bytes]:
    """All files of the evolution; pictures hold the time of drawing."""
    root = run / "evolution"
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.suffix not in (".png", ".svg")
    }
