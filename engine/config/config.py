"""The configuration of a run: pydantic models with the specs' field names, and a class of sections for each method.

Every field has a description and a range; unknown keys are errors. `engine.config.file.load_config` reports all
errors of a file at once, each with the path of the field, its value and the allowed values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pydantic import create_model, model_validator

from engine.config.esm import ESMSections
from engine.config.evolution import EvolutionSections
from engine.config.gflownet import GFlowNetSections
from engine.config.models.model import ModelSection
from engine.config.pool import PoolSections
from engine.config.run import RunSections
from engine.config.serve import ServeSections
from engine.config.slsm import SLSMSections
from engine.plugins import plugins


class Config(
    ServeSections,
    PoolSections,
    SLSMSections,
    GFlowNetSections,
    EvolutionSections,
    ESMSections,
    RunSections,
):
    """The configuration of a run. Sections are written in the reverse order of these base classes."""

    @model_validator(mode="after")
    def _check_generated_splits(self) -> Self:
        splits = {self.task.train_split, self.task.eval_split}
        reads = self.task.dataset == "generated" and {"mine", "eval"} & set(self.run.stages)
        if reads and not splits <= {"train", "dev", "test"}:
            raise ValueError(
                "`task.train_split` and `task.eval_split` of the generated task: train, dev or test"
            )
        return self

    @property
    def evolution_model(self) -> ModelSection:
        """The model whose logits the evolution steers."""
        return self.evolution.model or self.model

    @property
    def slsm_model(self) -> ModelSection:
        """The model that answers the conversations, where `slsm.answers.kind` is `local`."""
        return self.slsm.model or self.model


if not TYPE_CHECKING and (_OTHERS := tuple(plugins("sections").values())):
    # With the same name and module, so that a configuration can be pickled for another process.
    Config = create_model("Config", __base__=(*_OTHERS, Config), __module__=__name__, __doc__=Config.__doc__)
