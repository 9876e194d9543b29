"""Tiny random models, each saved and loaded once a test session."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch

from engine.lm.transformers.model import TransformersModel
from tests.literal_model import LiteralModel
from tests.tiny_models import EXPERTS, save_tiny

Pair = tuple[TransformersModel, LiteralModel]


def exact_dtype(architecture: str) -> str:
    """The number type in which two ways of computing agree best."""
    return "float32" if architecture in EXPERTS else "float64"


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Where a tiny model of an architecture lies."""

    @cache
    def make(architecture: str) -> Path:
        return save_tiny(tmp_path_factory.mktemp(architecture), architecture)

    return make


@pytest.fixture(scope="session")
def pair(folder: Callable[[str], Path]) -> Callable[[str], Pair]:
    """A model and its literal reference, in float64 where it can be: rounding then decides no token."""

    @cache
    def make(architecture: str) -> Pair:
        model = TransformersModel.load(
            str(folder(architecture)), device="cpu", dtype=exact_dtype(architecture)
        )
        literal = LiteralModel(model.network.model, list(model.network.layers), model.tokenizer, model.info)
        return model, literal

    return make
