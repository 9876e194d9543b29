"""Deltas are exactly the expected clusters with finite numbers, or an error that names everything wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.errors import DataError
from engine.evolution.deltas import (
    check_deltas,
    delta_problems,
    problem_words,
    read_deltas,
    write_deltas,
    zero_deltas,
)
from tests.exactly import exactly

NAMES = ["0", "1", "2", "10"]


def test_round_trip_keeps_the_clusters_order(tmp_path: Path) -> None:
    path = tmp_path / "deltas_current.json"
    path.write_text('{"10": 1, "2": -0.25, "1": 0.1, "0": 0}')
    found = read_deltas(path, NAMES)
    assert list(found.items()) == [("0", 0.0), ("1", 0.1), ("2", -0.25), ("10", 1.0)]
    assert all(isinstance(value, float) for value in found.values())
    write_deltas(path, found)
    assert read_deltas(path, NAMES) == found
    assert zero_deltas(NAMES) == dict.fromkeys(NAMES, 0.0)


UNREAD = "deltas cannot be read: {} (…/deltas.json): correct the path, or restore the file"
DELTAS = "these are not deltas: {} (…/deltas.json): give one finite number for each of the clusters 0 to 10"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"0": 0, "1": 0, "2": 0}', DELTAS.format("missing clusters: 10")),
        ('{"0": 0, "1": 0, "2": 0, "10": 0, "11": 0, "x": 1}', DELTAS.format("unknown clusters: 11, x")),
        (
            '{"0": NaN, "1": Infinity, "2": -Infinity, "10": 0}',
            DELTAS.format("not a finite number: 0 (NaN), 1 (Infinity), 2 (-Infinity)"),
        ),
        ('{"0": 0, "1": 0, "2": NaN, "10": 0}', DELTAS.format("not a finite number: 2 (NaN)")),
        (
            '{"0": "0", "1": null, "2": true, "10": [1]}',
            DELTAS.format('not a finite number: 0 ("0"), 1 (null), 2 (true), 10 (list)'),
        ),
        ('{"0": 1e999, "1": 1, "2": 1, "10": 1}', DELTAS.format("not a finite number: 0 (Infinity)")),
        (f'{{"0": {10**400}, "1": 1, "2": 1, "10": 1}}', DELTAS.format("beyond ±100: 0")),
        ("[0, 0, 0, 0]", DELTAS.format("deltas are no object of cluster ids and numbers: list")),
        ("[" * 100_000, UNREAD.format("Expected `object`, got `array`")),
        ("{", UNREAD.format("Input data was truncated")),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "deltas.json"
    path.write_text(text)
    with pytest.raises(DataError, match=exactly(told)) as caught:
        read_deltas(path, NAMES)
    assert caught.value.where == str(path)


def test_all_problems_at_once() -> None:
    found = delta_problems({"0": float("nan"), "7": 1.0}, NAMES)
    assert found == {
        "missing clusters": "1, 2, 10",
        "unknown clusters": "7",
        "not a finite number": "0 (NaN)",
    }
    words = "missing clusters: 1, 2, 10; unknown clusters: 7; not a finite number: 0 (NaN)"
    assert problem_words(found) == words
    assert problem_words({"the summary is empty": ""}) == "the summary is empty"


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["x" * 40, "y" * 41, "z"], f"{'x' * 40}, {'y' * 40}…, z"),
        ([f"c{n}" for n in range(40)], ", ".join(f"c{n}" for n in range(40))),
        ([f"c{n}" for n in range(41)], ", ".join(f"c{n}" for n in range(40)) + ", and 1 more"),
        ([f"c{n}" for n in range(1040)], ", ".join(f"c{n}" for n in range(40)) + ", and 1,000 more"),
    ],
    ids=["long names", "as many as are shown", "one more", "many more"],
)
def test_forty_names_are_shown_and_forty_characters_of_each(names: list[str], shown: str) -> None:
    assert delta_problems(dict.fromkeys(names, 0), []) == {"unknown clusters": shown}


def test_nothing_that_is_no_number_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=exactly("Out of range float values are not JSON compliant: inf")):
        write_deltas(tmp_path / "d.json", {"0": float("inf")})
    assert not list(tmp_path.iterdir())


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(
        DataError,
        match=exactly(
            "deltas cannot be read: No such file or directory (…/none.json): correct the path, or restore the file"
        ),
    ):
        read_deltas(tmp_path / "none.json", NAMES)


def test_checked_deltas_are_json() -> None:
    assert json.dumps(check_deltas({"1": 2, "0": 1}, ["0", "1"], "here")) == '{"0": 1.0, "1": 2.0}'


@pytest.mark.parametrize("number", [-100.5, 100.5, -1e300])
def test_a_delta_beyond_the_largest_is_refused_on_either_side(number: float) -> None:
    assert delta_problems({"0": number}, ["0"]) == {"beyond ±100": "0"}
    assert delta_problems({"0": -100.0}, ["0"]) == delta_problems({"0": 100.0}, ["0"]) == {}
