"""Configuration of the run itself: its name, folder, seed and stages, its model, and its replicas."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from engine.config.method import MethodSections, StageEntry
from engine.config.model import ModelSection
from engine.config.scale import ScaleSection
from engine.config.section import Name, NonNegativeInt, Section


class RunSection(Section):
    name: Name = Field(default="run", description="Name of the experiment: its folder under `outputs`.")
    outputs: str = Field(default="outputs", min_length=1, description="Folder that holds all runs.")
    seed: NonNegativeInt = Field(default=0, description="Seed of every random draw of the run.")
    stages: list[str] = Field(
        default=["mine", "select", "memory", "eval"], min_length=1, description="Stages to run, in order."
    )


class TrainingSections(MethodSections):
    """The stage that trains the built-in models; it has no fields of its own."""

    stage_entries: ClassVar = (
        StageEntry("train-embedded", "engine.embedded.training.train_embedded_stage:TrainEmbedded"),
    )


class RunSections(MethodSections):
    """The sections of every run, whatever its methods."""

    run: RunSection = RunSection()
    model: ModelSection = ModelSection()
    scale: ScaleSection = ScaleSection()
