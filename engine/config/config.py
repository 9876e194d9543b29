"""The configuration of a run: pydantic models with the specs' field names, one class of sections a method.

Every field has a description and a range; unknown keys are errors. `engine.config.file.load_config` reports all
errors of a file at once, each with the path of the field, the value that stands there and what is allowed.
"""

from __future__ import annotations

from engine.config.esm import ESMSections
from engine.config.evolution import EvolutionSections
from engine.config.gflownet import GFlowNetSections
from engine.config.model import ModelSection
from engine.config.pool import PoolSections
from engine.config.run import RunSections, TrainingSections
from engine.config.slsm import SLSMSections


class Config(
    TrainingSections,
    PoolSections,
    SLSMSections,
    GFlowNetSections,
    EvolutionSections,
    ESMSections,
    RunSections,
):
    """One run. The methods stand in the order opposite to the one in which their sections are written out."""

    @property
    def evolution_model(self) -> ModelSection:
        """The model whose logits the evolution steers."""
        return self.evolution.model or self.model

    @property
    def slsm_model(self) -> ModelSection:
        """The model that answers the conversations, where it is a local one."""
        return self.slsm.model or self.model
