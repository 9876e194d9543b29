"""What runs that are shown together are called."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from app.runs.run_names import (
    composition_words,
    name_runs,
    names_of,
    setting_words,
    started,
)
from engine.run.directory import RunRecord
from tests.two_runs import make_run

LONG_AGO = datetime(2020, 5, 17, 14, 3).timestamp()


def record(name: str = "demo", run_id: str = "20200517-140300-aaaa", **fields: Any) -> RunRecord:
    """A run with these fields in its configuration: `online__L=3`."""
    config: dict[str, Any] = {"run": {"name": name, "outputs": run_id, "seed": 0}, "online": {"L": 7}}
    for field, value in fields.items():
        section, _, key = field.partition("__")
        config.setdefault(section, {})[key] = value
    return RunRecord(
        name=name, run_id=run_id, created=LONG_AGO, updated=LONG_AGO, seeds={}, stages={}, versions={}, config=config
    )  # fmt: skip


def names(*records: RunRecord) -> list[str]:
    return [name.text for name in name_runs(records)]


def test_the_seed_stands_last_also_where_it_alone_was_set_over_the_file() -> None:
    runs = [record(run__seed=seed, online__L=length) for seed, length in ((0, 1), (1, 3))]
    for run in runs:
        run.changes = {"run.seed": run.config["run"]["seed"]}
    assert names(*runs) == ["online.L=1 seed=0", "online.L=3 seed=1"]


def test_runs_of_today_that_are_alike_have_their_time_of_day(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = {1.0: "today 14:03", 2.0: "Mar 02 14:03"}
    monkeypatch.setattr("app.runs.run_names.started", lambda created: moments[created])
    runs = [record(), record()]
    runs[0].created, runs[1].created = moments
    assert names(*runs) == ["demo 14:03", "demo Mar 02 14:03"]


def test_a_setting_in_which_nothing_is_swept_is_the_files_own() -> None:
    assert setting_words({"online.L": 3}, []) == "as configured"
    assert setting_words({"online.L": 3}) == "online.L=3" and setting_words({}) == "as configured"


def test_what_differs_is_the_name_with_the_seed_last() -> None:
    runs = [record(run__seed=s, online__L=length) for length in (1, 3) for s in (0, 1)]
    assert names(*runs) == [
        "online.L=1 seed=0",
        "online.L=1 seed=1",
        "online.L=3 seed=0",
        "online.L=3 seed=1",
    ]
    assert names(runs[0], runs[1]) == ["seed=0", "seed=1"], "what is alike among those shown is left out"
    assert names(runs[0]) == ["demo"] and names() == []


def test_fields_that_were_set_by_hand_come_first() -> None:
    runs = [record(decode__top=n, online__L=n) for n in (1, 2)]
    assert names(*runs) == ["online.L=1 decode.top=1", "online.L=2 decode.top=2"], "as in the configuration"
    runs[1].changes = {"decode.top": 2}
    found = name_runs(runs)
    assert [name.text for name in found] == ["decode.top=1 online.L=1", "decode.top=2 online.L=2"]
    assert [name.fields for name in found] == [("decode.top", "online.L")] * 2
    split = [record(online__L=n, task__eval_split=s) for n, s in ((1, "dev"), (2, "test"))]
    split[0].changes = {"task.eval_split": "dev"}
    assert names(*split)[0] == "split=dev online.L=1", "also one without its section"


def test_more_than_two_fields_stand_without_their_sections_where_that_says_the_same() -> None:
    runs = [record(online__L=n, a__k=n, b__k=n, run__seed=n) for n in (1, 2)]
    assert names(*runs)[0] == "L=1 a.k=1 b.k=1 seed=1"
    more = [record(a__a=n, a__b=n, a__c=n, a__d=n, a__e=n, a__f=n) for n in (1, 2)]
    assert names(*more)[1] == "a=2 b=2 c=2 d=2 +2 fields"
    assert names(*[record(a__a=n, a__b=n, a__c=n, a__d=n, a__e=n) for n in (1, 2)])[1].endswith(
        "d=2 +1 field"
    )


def test_runs_of_several_experiments_have_theirs_behind_the_difference() -> None:
    runs = [record(online__L=1), record(online__L=2), record("other", online__L=5)]
    assert names(*runs) == ["online.L=1 (demo)", "online.L=2 (demo)", "other"]


def test_runs_that_differ_in_nothing_have_their_name_and_time_then_their_id() -> None:
    later = record()
    later.created = datetime(2021, 6, 1).timestamp()
    assert names(record(), later) == ["demo 2020-05-17", "demo 2021-06-01"]
    same = [record(run_id="x-aaaa"), record(run_id="x-bbbb"), record(online__L=1)]
    assert names(*same) == ["online.L=7 2020-05-17 aaaa", "online.L=7 2020-05-17 bbbb", "online.L=1"]


def test_a_field_that_an_older_version_lacks_is_no_difference() -> None:
    assert names(record(new__field=1, online__L=1), record(online__L=2)) == ["online.L=1", "online.L=2"]


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (("/data/a-long-folder/1.txt", "/data/a-long-folder/2.txt"),
         ("…ata/a-long-folder/1.txt", "…ata/a-long-folder/2.txt")),
        ((["mine", "select", "memory", "eval"], ["eval"]), ("4 values", '["eval"]')),
        (("x" * 24, "y" * 25), ("x" * 24, "…" + "y" * 23)),
        ((0.5, 1.0), ("0.5", "1")),
        ((0.1234567, 1e-5), ("0.1234567", "1e-05")),
        ((True, None), ("true", "null")),
    ],
)  # fmt: skip
def test_values_are_cut_where_they_do_not_differ(values: tuple[Any, Any], shown: tuple[str, str]) -> None:
    found = names(record(task__x=values[0]), record(task__x=values[1]))
    assert found == [f"task.x={words}" for words in shown]


def test_split_and_stages_need_no_section() -> None:
    runs = [record(task__eval_split=s, run__stages=[s]) for s in ("dev", "test")]
    assert names(*runs) == ['stages=["dev"] split=dev', 'stages=["test"] split=test']


def test_settings_of_a_sweep_are_called_the_same() -> None:
    setting: Mapping[str, Any] = {"online.L": 3, "online.k_scale": 0.5, "run.seed": 1}
    assert setting_words(setting) == "L=3 k_scale=0.5 seed=1"
    assert setting_words(setting, ["online.L"]) == "online.L=3" and setting_words({}) == "as configured"


def test_names_of_folders(tmp_path: Path) -> None:
    paths = [make_run(tmp_path, "demo", [], {"online": {"L": length}}) for length in (1, 2, 3)]
    found = names_of([*paths, tmp_path / "no" / "run"])
    assert found == ["online.L=1", "online.L=2", "online.L=3", "no/run"]


def test_what_runs_a_sweep_has() -> None:
    assert composition_words(4, 4, False) == ""
    assert composition_words(4, 4, True) == "4 settings + 1 test run"
    assert composition_words(4, 8, True) == "4 settings × 2 seeds + 1 test run"
    assert composition_words(4, 8, False) == "4 settings × 2 seeds"
    assert (
        composition_words(2, 3, False) == "2 settings, 3 runs"
        and composition_words(1, 1, True)[:9] == "1 setting"
    )


def test_when_it_was_begun() -> None:
    now = datetime(2026, 3, 2, 15, 0)
    moments = {
        datetime(2026, 3, 2, 14, 3): "today 14:03",
        datetime(2026, 3, 1, 14, 3): "Mar 01 14:03",
        datetime(2026, 2, 2, 14, 3): "Feb 02 14:03",
        datetime(2025, 12, 31, 23, 59): "2025-12-31",
    }
    assert {moment: started(moment.timestamp(), now) for moment in moments} == moments
