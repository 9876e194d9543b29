"""Every method that the program brings is told in words."""

from __future__ import annotations

from typing import get_args

from app.words import ESM_METHODS
from engine.config.esm import Ablation, FieldSection
from engine.esm.plain import PLAIN_METHODS


def test_each_method_that_a_configuration_can_name_has_words() -> None:
    (field,) = get_args(FieldSection.model_fields["methods"].annotation)
    assert set(ESM_METHODS) == {"esm", *PLAIN_METHODS, *get_args(Ablation), *get_args(field)}
