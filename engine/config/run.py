"""Configuration of the run itself: its name, folder, seed and stages, its model, and its replicas."""

from __future__ import annotations

from pydantic import Field

from engine.config.method import MethodSections
from engine.config.models.model import ModelSection
from engine.config.scale import ScaleSection
from engine.config.section import Name, NonNegativeInt, Section


class RunSection(Section):
    name: Name = Field(default="run", description="Name of the experiment: its folder under `outputs`.")
    outputs: str = Field(default="outputs", min_length=1, description="Folder that holds all runs.")
    seed: NonNegativeInt = Field(default=0, description="Seed of every random draw of the run.")
    stages: list[str] = Field(
        default=["mine", "select", "memory", "eval"], min_length=1, description="Stages to run, in order."
    )


class RunSections(MethodSections):
    """The sections of every run, whatever its methods."""

    run: RunSection = RunSection()
    model: ModelSection = ModelSection()
    scale: ScaleSection = ScaleSection()
