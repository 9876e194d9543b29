"""Which methods ESM's evaluation compares, by what a configuration names."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from engine.config.config import Config
from engine.config.esm_methods import evaluated_methods

ALWAYS = ["greedy", "esm"]


@pytest.mark.parametrize(
    ("sections", "names"),
    [
        ({"eval": {"ablations": []}}, ALWAYS),
        ({"eval": {"ablations": ["no_memory"], "contrast": {"path": "pairs.jsonl"}}},
         [*ALWAYS, "no_memory", "contrast_mean", "contrast_pca"]),
        ({"eval": {"ablations": [], "vector": {"path": "v.pt"}, "field": {"methods": ["seal"]}}},
         [*ALWAYS, "imported_vector", "seal"]),
        ({"online": {"variant": "no_memory"}}, ALWAYS),
        ({"online": {"variant": "no_memory"}, "eval": {"ablations": []}}, ALWAYS),
    ],
)  # fmt: skip
def test_what_a_configuration_asks_for(sections: dict[str, Any], names: list[str]) -> None:
    """A variant that esm itself has is left out of the ablations, and without a memory all of them are."""
    config = Config.model_validate(sections)
    assert [method.name for method in evaluated_methods(config) if method.name != "majority_vote"] == names


def test_a_variant_leaves_its_own_ablation_out() -> None:
    every = Config().eval.ablations
    left = Config.model_validate({"online": {"variant": "no_probing"}}).eval.ablations
    assert "no_probing" in every and left == [name for name in every if name != "no_probing"]


def test_how_hot_a_server_answers_is_said_without_needless_digits() -> None:
    with pytest.raises(ValidationError) as refused:
        Config.model_validate({"slsm": {"answers": {"kind": "openai"}, "temperature": 3.0}})
    said = "Value error, `temperature` 3 is more than servers take: at most 2"
    assert [one["msg"] for one in refused.value.errors()] == [said]


def test_an_ablation_that_esm_itself_is_cannot_be_named() -> None:
    with pytest.raises(ValidationError) as refused:
        Config.model_validate({"online": {"variant": "no_probing"}, "eval": {"ablations": ["no_probing"]}})
    assert refused.value.errors()[0]["msg"] == (
        "Value error, eval.ablations without no_probing: where online.variant is no_probing, esm itself is no "
        "different (or leave online.variant at esm)"
    )
