"""RL data files: what is read comes back, and what cannot be meant is named."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import DataError
from engine.pool.data.records import (
    RLData,
    RLQueryData,
    global_to_local,
    local_to_global,
    parse_query,
    read_rl_data,
    write_rl_data,
)
from tests.engine.pool.rl_data import ROWS, queries
from tests.exactly import exactly

FIX_IT = "correct the file, or leave the query out"


def trajectory(**changes: Any) -> dict[str, Any]:
    usual = {
        "pointer": [1, 2], "pointer_global": [12, 13], "vqa_correct": 1, "vqa_acc_score": 0.6, "gen_method": "beam",
        "beam_score": -0.25, "logprob_score": -3.5, "eval_failed": False,
    }  # fmt: skip
    return usual | changes


def query(**changes: Any) -> dict[str, Any]:
    usual = {
        "query_id": 123,
        "candidate_pool_indices": [11, 12, 13],
        "pointer_candidates": [trajectory()],
        "question": "what is it?",
    }
    return usual | changes


def nested(depth: int, wrap: Callable[[Any], Any] = lambda inner: [inner]) -> Any:
    """A list in a list in a list."""
    return wrap(nested(depth - 1, wrap)) if depth else 0


def read(folder: Path, content: Any, table_size: int | None = None) -> RLData:
    path = folder / "rl_data.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_rl_data(path, table_size)


def test_a_file_comes_back_with_every_field_it_had(tmp_path: Path):
    content = {"_meta": {"made": "by hand"}, "123": query()}
    data = read(tmp_path, content)
    write_rl_data(tmp_path / "again.json", data)
    assert json.loads((tmp_path / "again.json").read_text()) == {
        "_meta": {"made": "by hand"},
        "123": query(),
    }, "a number stays a number"
    assert list(data) == ["123"] and data.notes == {"_meta": {"made": "by hand"}}


def test_candidate_pool_ids_is_another_name(tmp_path: Path):
    record = query()
    record["candidate_pool_ids"] = record.pop("candidate_pool_indices")
    assert read(tmp_path, {"123": record})["123"].candidate_pool_indices == [11, 12, 13]
    with pytest.raises(
        DataError,
        match=exactly(
            "candidate_pool_indices and candidate_pool_ids are not the same (…/rl_data.json: query 123): correct "
            "the file, or leave the query out"
        ),
    ):
        read(tmp_path, {"123": query(candidate_pool_ids=[1, 2, 3])})


def test_a_list_of_queries_is_read_too(tmp_path: Path):
    assert list(read(tmp_path, [query(), query(query_id="b")])) == ["123", "b"]
    with pytest.raises(
        DataError,
        match=exactly(
            "this id occurs twice (…/rl_data.json: query 123): correct the file, or leave the query out"
        ),
    ):
        read(tmp_path, [query(), query()])


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"candidate_pool_indices": [11, -2, 13]}, r"query 123: .*>= 0.*candidate_pool_indices\[1\]"),
        ({"candidate_pool_indices": [11, 12, 999]}, r"query 123.*a row of the pool is 999.*100 rows"),
        ({"candidate_pool_indices": [11, 1.5, 13]}, r"query 123: .*got `float`.*candidate_pool_indices\[1\]"),
        ({"candidate_pool_indices": "all"}, "query 123: .*got `str`.*candidate_pool_indices"),
        ({"query_id": 5}, "query_id is 5, its key is '123'"),
        ({"pointer_candidates": None}, "query 123: Expected `array`, got `null`.*pointer_candidates"),
        ({"pointer_candidates": [trajectory(), trajectory(pointer=[0, 3])]}, r"trajectory 1.*\[0, 3\].*pool of 3"),
        ({"pointer_candidates": [trajectory(pointer=[-1, 0])]}, r"trajectory 0.*\[-1, 0\] leaves"),
        ({"pointer_candidates": [trajectory(pointer=[1, 2, 0])]}, r"length <= 2.*pointer_candidates\[0\]\.pointer"),
        ({"pointer_candidates": [trajectory(pointer=[True, 2])]}, r"got `bool`.*pointer_candidates\[0\]\.pointer\[0\]"),
        ({"pointer_candidates": [trajectory(pointer_global=[12, 11])]}, r"rows \[12, 13\].*\[12, 11\]"),
        ({"pointer_candidates": [trajectory(pointer_global=[13, 12])]}, r"rows \[12, 13\].*\[13, 12\]"),
        ({"pointer_candidates": [trajectory(vqa_acc_score=1.2)]}, r"<= 1\.0.*pointer_candidates\[0\]\.vqa_acc_score"),
        ({"pointer_candidates": [trajectory(vqa_acc_score=float("nan"))]}, "vqa_acc_score"),
        ({"pointer_candidates": [trajectory(vqa_correct=2)]}, r"<= 1.*pointer_candidates\[0\]\.vqa_correct"),
        ({"pointer_candidates": [trajectory(gen_method=None)]}, r"pointer_candidates\[0\]\.gen_method"),
        ({"pointer_candidates": [trajectory(vqa_acc_score=None)]}, r"pointer_candidates\[0\]\.vqa_acc_score"),
        ({"pointer_candidates": ["beam"]}, r"Expected `object`, got `str`.*pointer_candidates\[0\]"),
        ({"query_id": "1" * 201}, "query_id is '1+"),
        ({"extra": nested(65)}, "query 123: 'extra' is nested more than 64 deep"),
        ({"extra": nested(65, lambda inner: {"in": inner})}, "query 123: 'extra' is nested more than 64 deep"),
        ({"pointer_candidates": [trajectory(extra=nested(400))]}, "trajectory 0: 'extra' is nested"),
    ],
)  # fmt: skip
def test_errors_name_query_trajectory_and_value(tmp_path: Path, changes: dict[str, Any], named: str):
    with pytest.raises(DataError) as caught:
        read(tmp_path, {"123": query(**changes)}, table_size=100)
    assert str(tmp_path / "rl_data.json") in str(caught.value)
    other_table = "give the embeddings this file was made with"
    assert caught.value.hint == (other_table if "embedding table" in named or "100 rows" in named else FIX_IT)
    assert re.search(named, f"{caught.value.where}: {caught.value.what}"), str(caught.value)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("{", "no JSON: … (…/rl_data.json): restore the file"),
        (
            '"text"',
            "found 'text', expected an object of queries by id, or a list of queries (…/rl_data.json): give RL data: "
            "queries with candidate_pool_indices and pointer_candidates",
        ),
        ("[" * 100_000, "no JSON: … (…/rl_data.json): restore the file"),
        (
            '{"1": {}, "1": {}}',
            "no JSON: the key '1' occurs twice in an object (…/rl_data.json): restore the file",
        ),
        (
            {"1": {"pointer_candidates": []}},
            f"has neither candidate_pool_indices nor candidate_pool_ids (…/rl_data.json: query 1): {FIX_IT}",
        ),
        ({"1": 5}, f"found 5, expected an object (…/rl_data.json: query 1): {FIX_IT}"),
        (
            {"1": list(range(99))},
            "found [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21..., expected an "
            f"object (…/rl_data.json: query 1): {FIX_IT}",
        ),
        (
            [{"candidate_pool_indices": [], "pointer_candidates": []}],
            f"Expected `int | str`, got `null` - at `$.query_id` (…/rl_data.json: query None): {FIX_IT}",
        ),
        (
            [query(query_id="x" * 300)],
            f"query_id has 300 characters, more than 200 (…/rl_data.json: query {'x' * 200}): {FIX_IT}",
        ),
        ({"_note": nested(200)}, f"'_note' is nested more than 64 deep (…/rl_data.json: a note): {FIX_IT}"),
    ],
)
def test_files_that_are_none_are_named(tmp_path: Path, content: Any, named: str):
    with pytest.raises(DataError, match=exactly(named)):
        read(tmp_path, content)


def test_a_key_that_is_doubled_among_very_many_is_found_at_once(tmp_path: Path):
    began = time.process_time()
    with pytest.raises(
        DataError,
        match=exactly("no JSON: the key 'last' occurs twice in an object (…/rl_data.json): restore the file"),
    ):
        read(tmp_path, f'{{{"".join(f""" "{n}": 1,""" for n in range(30_000))} "last": 1, "last": 2}}')
    assert time.process_time() - began < 2


def test_halves_of_letters_are_written_again(tmp_path: Path):
    data = read(tmp_path, json.dumps([query(query_id="a\ud800", note="\ud800")]))
    write_rl_data(tmp_path / "again.json", data)
    again = read_rl_data(tmp_path / "again.json")
    assert list(again) == ["a?"] and again["a?"].extra["note"] == "?"


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(
        DataError, match=exactly("no RL data: No such file or directory (…/nowhere.json): name a JSON file")
    ):
        read_rl_data(tmp_path / "nowhere.json")


def test_what_was_never_scored_needs_no_score(tmp_path: Path):
    failed = trajectory(eval_failed=True, vqa_acc_score=None, vqa_correct=None)
    (found,) = read(tmp_path, {"123": query(pointer_candidates=[failed])})["123"].pointer_candidates
    assert found.failed and found.vqa_acc_score == 0.0


def test_pythons_nan_in_unknown_fields_becomes_null(tmp_path: Path):
    content = {"123": query(pointer_candidates=[trajectory(beam_score=float("-inf"))])}
    write_rl_data(tmp_path / "again.json", read(tmp_path, content))
    again = json.loads((tmp_path / "again.json").read_text(), parse_constant=lambda name: pytest.fail(name))
    assert again["123"]["pointer_candidates"][0]["beam_score"] is None


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=queries("1"), second=queries("2", sizes=(1, 6)))
def test_any_data_is_read_as_it_was_written(tmp_path: Path, first: RLQueryData, second: RLQueryData):
    data = RLData({"1": first, "2": second}, {"_note": [1]})
    write_rl_data(tmp_path / "data.json", data)
    again = read_rl_data(tmp_path / "data.json", table_size=ROWS)
    assert again == data and again.notes == data.notes


@given(st.lists(st.integers(0, 10**6), min_size=1, unique=True))
def test_local_and_global_are_inverse(pool: list[int]):
    for place, row in enumerate(pool):
        assert global_to_local(local_to_global(place, pool), pool) == place
        assert local_to_global(global_to_local(row, pool), pool) == row
    with pytest.raises(DataError, match="not in a pool"):
        local_to_global(len(pool), pool)
    with pytest.raises(
        DataError, match=exactly("row -1 is not in the pool: correct the file, or leave the query out")
    ):
        global_to_local(-1, pool)


def test_an_id_may_have_200_characters() -> None:
    record = {"candidate_pool_indices": [0, 1], "pointer_candidates": []}
    assert parse_query("x" * 200, record, "file").name == "x" * 200
    with pytest.raises(DataError, match="query_id has 201 characters, more than 200"):
        parse_query("x" * 201, record, "file")
