"""The section `gflownet`: what older runs wrote, and what was never a field."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from engine.config.gflownet import GFlowNetSection


def test_a_run_of_an_older_version_is_read_without_the_fields_that_are_gone() -> None:
    """They stand in its config.yaml, where every field is written out: always both."""
    written = GFlowNetSection().model_dump() | {"processes": 2, "parts": 4}
    assert GFlowNetSection.model_validate(written) == GFlowNetSection()


@pytest.mark.parametrize("name", ["processes", "parts"])
def test_whoever_asks_for_several_processes_is_told_that_there_are_none(name: str) -> None:
    with pytest.raises(ValidationError, match=name):
        GFlowNetSection.model_validate({name: 2})


@pytest.mark.parametrize(("missed", "allowed"), [(1.0, False), (0.99, True)])
def test_a_path_that_misses_pays_less_than_one_that_reaches(missed: float, allowed: bool) -> None:
    text = {"reward": {"success_reward": 1.0, "failure_reward": missed}}
    if allowed:
        assert GFlowNetSection.model_validate(text).reward.failure_reward == missed
        return
    with pytest.raises(ValidationError, match="failure_reward below success_reward"):
        GFlowNetSection.model_validate(text)
