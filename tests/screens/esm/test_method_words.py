"""Every method that the program brings is told in words."""

from __future__ import annotations

from typing import get_args

from engine.config.esm import Ablation, FieldSection
from engine.esm.plain import PLAIN_METHODS
from screens.esm.method_words import METHOD_WORDS


def test_each_method_that_a_configuration_can_name_has_words() -> None:
    (field,) = get_args(FieldSection.model_fields["methods"].annotation)
    assert set(METHOD_WORDS) == {"esm", *PLAIN_METHODS, *get_args(Ablation), *get_args(field)}
