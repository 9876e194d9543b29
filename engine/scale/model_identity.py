"""A model's `ModelInfo`, read in a process that loads the model: the worker itself may have no room for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.config.models.model import ModelSection
from engine.lm.protocol import ModelInfo
from engine.scale.work import WorkContext


@dataclass(frozen=True)
class ModelIdentity:
    """Work whose only item is None and whose result is the model's `ModelInfo`."""

    model: ModelSection

    def open(self, context: WorkContext) -> Callable[[None], ModelInfo]:
        info = context.load_model(self.model).info
        return lambda item: info
