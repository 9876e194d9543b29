"""From the name of a method of stage `eval` to the method: its sources are read, its rules are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from engine.config.config import Config
from engine.config.esm_methods import METHODS, EvalMethod, Need
from engine.esm import layout
from engine.esm.baselines import field, static
from engine.esm.evaluation.sources import Sources, VariantInputs
from engine.esm.library.memory import EpisodicMemory
from engine.esm.online.variants import Variant
from engine.lm.protocol import LanguageModel, ModelInfo


def _memory(config: Config, info: ModelInfo, run_dir: Path) -> EpisodicMemory:
    return EpisodicMemory.load(layout.memory(run_dir), layout.library(run_dir), info)


_READERS: dict[Need, Callable[[Config, ModelInfo, Path], Any]] = {
    "memory": _memory,
    "library": field.read_library,
    "answers": field.read_answers,
    "vector": static.read_vector,
    "pairs": static.read_contrast_pairs,
}


def read_sources(
    methods: Iterable[EvalMethod], config: Config, info: Callable[[], ModelInfo], run_dir: Path
) -> Sources:
    """What `methods` need. Raises DataError for what is not there, cannot be read, or does not fit the model, whose
    `info` is asked for only where something is needed."""
    needs = {method.needs for method in methods} - {"nothing"}
    return Sources(**{need: _READERS[need](config, info(), run_dir) for need in _READERS if need in needs})


def make_variant(name: str, model: LanguageModel, config: Config, sources: Sources) -> Variant:
    """The rules of a method that steers."""
    return maker(METHODS[name])(VariantInputs(name, model, config, sources))


def maker(method: EvalMethod) -> Callable[..., Any]:
    """The function that the table names."""
    return getattr(import_module(f"engine.esm.{method.module}"), method.name)
