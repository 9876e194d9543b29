"""Language models that several stages of a process share."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, cast

from msgspec import structs

from engine.config.models.model import ModelSection
from engine.events import Event, ModelLoaded, ModelLoading
from engine.lm.kept_texts import KeepingModel, KeptTexts
from engine.lm.loading.load_progress import Tell, listening
from engine.lm.loading.model_size import model_size
from engine.lm.protocol import Between, LanguageModel, ModelInfo, go_on

TELL_EVERY = 1.0
"""Seconds between two events of a model that is being loaded."""


class SharedModels:
    """Loads each model when it is first used, and reports it through `emit`. A stage uses one model, so an earlier one
    may be ended when a later one needs its memory."""

    def __init__(
        self,
        emit: Callable[[Event], None],
        between: Between = go_on,
        kept: KeptTexts | None = None,
    ) -> None:
        """`between`: what every model calls between its passes. `kept`: where finished texts are kept."""
        self._emit = emit
        self._between = between
        self._kept = kept
        self._models: dict[ModelSection, LanguageModel] = {}

    def __call__(self, section: ModelSection) -> LanguageModel:
        """The model of this section, loaded now if needed. Raises ModelError."""
        if section not in self._models:
            self._make_room(section)
            self._models[section] = self._load(section)
        return self._models[section]

    def _make_room(self, section: ModelSection) -> None:
        """End earlier vLLM models until all shares fit: vLLM takes its share of the device when it starts."""
        held = [earlier for earlier in self._models if earlier.backend == "vllm"]
        while section.backend == "vllm" and held and _shares([*held, section]) > 1:
            cast("Any", self._models.pop(held.pop(0))).close()  # its processes

    def unload(self) -> None:
        """End every model: what is started next needs the device to itself."""
        for section in list(self._models):
            model = self._models.pop(section)
            if section.backend == "vllm":
                cast("Any", model).close()
            del model
        if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_initialized():
            gc.collect()
            torch.cuda.empty_cache()

    def _load(self, section: ModelSection) -> LanguageModel:
        from engine.lm.loading.load import (
            load_model,  # torch takes seconds to import: not for stages without a model
        )

        started = time.monotonic()
        with listening(self._teller(section)):
            model = load_model(section)
        model.between = self._between
        self._emit(
            ModelLoaded(**_logged(model.info), seconds=round(time.monotonic() - started, 3)),
        )
        return model if self._kept is None else KeepingModel(model, self._kept)

    def _teller(self, section: ModelSection) -> Tell:
        """Tells that the model is being loaded, and how far it is, at most every `TELL_EVERY` seconds. The built-in
        models are there at once."""
        if section.backend == "embedded":
            return lambda doing, share: None
        begun = ModelLoading(name=str(section.path), size=model_size(section))
        self._emit(begun)
        self._emit(structs.replace(begun, doing="starting"))
        reported_at = time.monotonic()

        def tell(doing: str, share: float) -> None:
            nonlocal reported_at
            if time.monotonic() - reported_at >= TELL_EVERY:
                reported_at = time.monotonic()
                self._emit(structs.replace(begun, doing=doing, share=share))

        return tell


def _logged(info: ModelInfo) -> dict[str, Any]:
    """What the log tells of a model."""
    return {name: value for name, value in asdict(info).items() if name in ModelLoaded.__struct_fields__}


def _shares(sections: list[ModelSection]) -> float:
    return sum(section.vllm.gpu_memory_utilization for section in sections)
