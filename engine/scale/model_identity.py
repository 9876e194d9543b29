"""What a model is, asked where it is loaded: the worker's process may have no room for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.config.model import ModelSection
from engine.lm.protocol import ModelInfo
from engine.scale.work import Place


@dataclass(frozen=True)
class ModelIdentity:
    """Work with one empty item."""

    model: ModelSection

    def open(self, place: Place) -> Callable[[None], ModelInfo]:
        info = place.load_model(self.model).info
        return lambda item: info

    def size(self, item: None) -> int:
        return 0
