"""The configuration of a run: pydantic models with the specs' field names, one class of sections a method.

Every field has a description and a range; unknown keys are errors. `engine.config.file.load_config` reports all
errors of a file at once, each with the path of the field, the value that stands there and what is allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import create_model

from engine.config.esm import ESMSections
from engine.config.evolution import EvolutionSections
from engine.config.gflownet import GFlowNetSections
from engine.config.model import ModelSection
from engine.config.pool import PoolSections
from engine.config.run import RunSections, TrainingSections
from engine.config.slsm import SLSMSections
from engine.outside import outside


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


if not TYPE_CHECKING and (_OTHERS := tuple(outside("sections").values())):
    # By the same name in the same module, so that a configuration can be sent to another process.
    Config = create_model("Config", __base__=(*_OTHERS, Config), __module__=__name__, __doc__=Config.__doc__)
