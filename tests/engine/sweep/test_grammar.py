"""What is swept, as it is typed."""

from __future__ import annotations

import pytest

from engine.errors import ConfigError
from engine.sweep.grammar import read_axes, settings_of, swept


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ("online.L=3,5,8", [3, 5, 8]),
        ("online.k_scale=0.5..4:4", [0.5, 1.66667, 2.83333, 4.0]),
        ("online.k_scale=0.5..4:4log", [0.5, 1.0, 2.0, 4.0]),
        ("run.seed=0..2", [0, 1, 2]),
        ("online.L=2..8:4", [2, 4, 6, 8]),
        ("online.tau_null=-1..1:3", [-1, 0, 1]),
        ("offline_mine.candidate_layers=[1],[2],[1, 2]", [[1], [2], [1, 2]]),
        ("task.dataset=gsm8k,arc-c", ["gsm8k", "arc-c"]),
        ('prompt.system="a, b",null', ["a, b", None]),
        ("online.carry_steering=true,false", [True, False]),
        ("online.L=4", [4]),
    ],
)
def test_values_of_a_field(spec: str, values: list[object]) -> None:
    assert read_axes([spec])[0].values == values


@pytest.mark.parametrize(
    ("specs", "words"),
    [
        (["online.L"], "field=a,b,c"),
        (["online.L="], "field=a,b,c"),
        (["online.nothing=1,2"], "a known field"),
        (["online.L=1,2", "online.L=3"], "each field once"),
        (["online.L=3,3"], "each value once"),
        (["online.k_scale=0.5..4"], "0.5..4:4"),
        (["online.L=5..3"], "begins below its end"),
        (["online.L=3..3"], "begins below its end"),
        (["online.k_scale=0..4:3log"], "above 0"),
        (["online.L=1..5:1"], "2 points or more"),
        (["online.L=1,,2"], "nothing between two commas"),
        (["online.L=[1,2"], "YAML"),
        (["run.name=a,b"], "another field"),
        (["online.L=1..40", "run.seed=0..9"], "40 × 10 = 400 runs"),
    ],
)
def test_what_is_wrong_is_said(specs: list[str], words: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_axes(specs)
    assert words in str(error.value)


def test_more_runs_if_they_are_asked_for() -> None:
    assert len(settings_of(read_axes(["online.L=1..40", "run.seed=0..9"], most=400))) == 400


def test_every_combination_and_seeds_change_fastest() -> None:
    settings = settings_of(read_axes(["run.seed=0,1", "online.L=3,5"]))
    assert [tuple(setting.values()) for setting in settings] == [(3, 0), (3, 1), (5, 0), (5, 1)]


@pytest.mark.parametrize(
    ("change", "several"),
    [
        ("online.L=3", False),
        ("online.L=3,5", True),
        ("run.seed=0..2", True),
        ("task.dataset=gsm8k,arc-c", True),
        ("offline_mine.candidate_layers=[1, 2]", False),
        ("offline_mine.candidate_layers=[1],[2]", True),
        ("prompt.system=Be brief, and kind", False),  # a text may have commas
        ("model.path=a..b", False),
        ("online.nothing=1,2", False),
        ("x", False),
    ],
)
def test_whether_a_change_has_several_values(change: str, several: bool) -> None:
    assert swept([change, "online.beta=1"]) == [change] * several


@pytest.mark.parametrize("axis", ["online.L=0..300000000", f"online.k_scale=0.5..4:{'9' * 5000}"])
def test_a_field_has_no_more_values_than_can_be_meant(axis: str) -> None:
    with pytest.raises(ConfigError, match="10,000"):
        read_axes([axis])
