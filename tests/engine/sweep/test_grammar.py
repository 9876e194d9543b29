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
        ("online.k_scale=0..10:4", [0.0, 3.33333, 6.66667, 10.0]),
        ("online.tau_null=-1..1:3", [-1, 0, 1]),
        ("online.k_scale=0..2.5:6", [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]),
        ("offline_mine.candidate_layers=[1],[2],[1, 2]", [[1], [2], [1, 2]]),
        ("task.dataset=gsm8k,arc-c", ["gsm8k", "arc-c"]),
        ('prompt.system="a, b",null', ["a, b", None]),
        ("prompt.system='a, b',c", ["a, b", "c"]),
        ("online.record_null=true,false", [True, False]),
        ("prompt.system=a (b, c),d", ["a (b, c)", "d"]),
        ('prompt.system=1,"1"', [1, "1"]),
        ("online.k_scale=1e-3..1E-1:3log", [0.001, 0.01, 0.1]),
        ("online.k_scale=0.0..2.0:3", [0.0, 1.0, 2.0]),
        ("online.L=4", [4]),
        (" online.L = 3..5 ", [3, 4, 5]),
        ("online.L=\t4, 5\n", [4, 5]),
    ],
)
def test_values_of_a_field(spec: str, values: list[object]) -> None:
    found = read_axes([spec])[0].values
    assert found == values and list(map(type, found)) == list(map(type, values))


FORM = "field=a,b,c, field=0..2 (whole numbers), field=0.5..4:4 (4 points) or field=0.5..4:4log"


@pytest.mark.parametrize(
    ("specs", "said"),
    [
        (["online.L"], f"sweep: found 'online.L', expected {FORM}"),
        (["online.L="], f"sweep: found 'online.L=', expected {FORM}"),
        (["=3"], f"sweep: found '=3', expected {FORM}"),
        (["online.nothing=1,2"], "sweep online.nothing: expected a known field, such as online.L"),
        (["online.L=1,2", "online.L=3"], "online.L: expected each field once"),
        (["online.L=1..40", "run.seed=0..39", "online.L=3"], "online.L: expected each field once"),
        (["online.L=3,3"], "sweep online.L: found 3,3, expected each value once"),
        (
            ["online.k_scale=0.5..4"],
            "sweep online.k_scale: found 0.5..4, expected a number of points, such as 0.5..4:4",
        ),
        *(
            (
                [f"online.k_scale={ends}"],
                f"sweep online.k_scale: found {ends}, expected a number of points, such as {ends}:4",
            )
            for ends in ("0..2.5", "0.0..2.0", "0..1e1")
        ),
        (["online.L=5..3"], "sweep online.L: found 5..3, expected a range that begins below its end"),
        (["online.L=3..3"], "sweep online.L: found 3..3, expected a range that begins below its end"),
        (
            ["online.L=0..10000"],
            "sweep online.L: found 0..10000, expected a range of at most 10,000 numbers, or points",
        ),
        (
            ["online.tau_null=-6000..6000"],
            "sweep online.tau_null: found -6000..6000, expected a range of at most 10,000 numbers, or points",
        ),
        (
            ["online.k_scale=0..4:3log"],
            "sweep online.k_scale: found 0..4:3log, expected a range above 0, as its points are multiples",
        ),
        *(
            (
                [f"online.L=1..5:{count}"],
                f"sweep online.L: found 1..5:{count}, expected 2 points or more, and not more than 10,000",
            )
            for count in (1, 10001, 10**9)
        ),
        (["online.L=1,,2"], f"sweep online.L: found nothing between two commas, expected {FORM}"),
        (
            ["online.L=[1,2"],
            "sweep online.L: found [1,2, expected a YAML value: the end where ',' or ']' should stand",
        ),
        *(
            (
                [f"run.{name}=a,b"],
                f"sweep run.{name}: expected another field: name, folder and stages are those of all runs",
            )
            for name in ("name", "outputs", "stages")
        ),
        (
            ["online.L=1..40", "run.seed=0..39"],
            "sweep: found 40 × 40 = 1,600 runs, expected at most 100, or --most 1600 if this is meant",
        ),
    ],
)
def test_what_is_wrong_is_said(specs: list[str], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_axes(specs)
    assert list(map(str, error.value.problems)) == [said]


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(ConfigError) as error:
        read_axes(["online.nothing=1,2", "online.L=5..3", "online.L=1,2", "run.seed=0,1", "online.L=3"])
    assert list(map(str, error.value.problems)) == [
        "sweep online.nothing: expected a known field, such as online.L",
        "sweep online.L: found 5..3, expected a range that begins below its end",
        "online.L: expected each field once",
    ]


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


def test_a_field_has_as_many_values_as_can_be_meant() -> None:
    (axis,) = read_axes(["online.L=0..9999"], most=10_000)
    assert axis.values == list(range(10_000))
    (axis,) = read_axes(["online.k_scale=0..9999:10000"], most=10_000)
    assert axis.values == list(range(10_000))
