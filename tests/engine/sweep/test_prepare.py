"""What a prepared sweep says of its runs, and which split its settings are compared on."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engine.errors import ConfigError
from engine.sweep.grammar import read_axes
from engine.sweep.prepare import point_changes, point_config, prepare_sweep
from engine.sweep.runs import RunMaker
from engine.sweep.sweep import Axis, Point, SweepFolder


def esm(folder: Path, dataset: str = "generated", stages: str = "[mine, eval]", split: str = "test") -> Path:
    path = folder / "esm.yaml"
    path.write_text(
        f"run: {{name: n, outputs: {folder}, seed: 5, stages: {stages}}}\n"
        f"task: {{dataset: {dataset}, eval_split: {split}}}\n"
    )
    return path


def prepared(
    config: Path, *specs: str, overrides: tuple[str, ...] = (), choose_on: str | None = None
) -> SweepFolder:
    return prepare_sweep(config, specs, read_axes(specs), overrides, jobs=3, choose_on=choose_on)


def test_the_record_of_a_sweep(tmp_path: Path) -> None:
    """Runs are counted from 1, with three digits behind the sweep's own id; where runs are kept is no change."""
    specs, before = ("online.L=3,5", "run.seed=0,1"), time.time()
    folder = prepared(esm(tmp_path), *specs, overrides=(f"run.outputs={tmp_path / 'o'}", "online.beta=0.25"))
    record = folder.read()
    run_id = folder.path.name.removeprefix("sweep-")
    assert folder.path == tmp_path / "o" / "n" / f"sweep-{run_id}"
    assert record.points == [
        Point(1, f"{run_id}-001", {"online.L": 3, "run.seed": 0}),
        Point(2, f"{run_id}-002", {"online.L": 3, "run.seed": 1}),
        Point(3, f"{run_id}-003", {"online.L": 5, "run.seed": 0}),
        Point(4, f"{run_id}-004", {"online.L": 5, "run.seed": 1}),
    ]
    assert (record.name, record.specs, record.jobs, record.status) == ("n", list(specs), 3, "prepared")
    assert before <= record.created <= time.time()
    assert record.axes == [Axis("online.L", [3, 5]), Axis("run.seed", [0, 1])]
    assert record.changes == {"online.beta": 0.25} and record.report is None
    assert folder.run(record.points[3]).path == folder.path.parent / f"{run_id}-004", "beside the sweep"
    config = point_config(folder, record, record.points[3])
    assert (config.online.L, config.run.seed, config.online.beta) == (5, 1, 0.25)


@pytest.mark.parametrize(
    ("config", "asked", "split"),
    [
        ({}, None, "dev"),
        ({"dataset": "arc-c"}, None, "validation"),
        ({"dataset": "gsm8k"}, None, ""),
        ({"split": "dev"}, None, ""),
        ({"stages": "[mine]"}, None, ""),
        ({}, "", ""),
        ({}, "train", "train"),
        ({}, "test", ""),
    ],
)
def test_settings_are_compared_on_the_split_that_is_not_reported(
    config: dict[str, str], asked: str | None, split: str, tmp_path: Path
) -> None:
    folder = prepared(esm(tmp_path, **config), "online.L=3,5", choose_on=asked)
    record = folder.read()
    assert record.choose_on == split
    first = record.points[0]
    assert point_changes(record, first) == ["online.L=3", *([f"task.eval_split={split}"] if split else [])]
    record.report = Point(1, "report", {"online.L": 3})
    assert point_changes(record, record.report) == ["online.L=3"]


def test_what_a_run_changes_is_written_as_yaml(tmp_path: Path) -> None:
    """A text that reads as a number stays a text; nothing is null."""
    record = prepared(esm(tmp_path), "online.L=3,5", choose_on="").read()
    setting = {"online.L": 3, "model.path": "1", "a": "b c", "d": None, "e": [True, "f"]}
    changes = ["online.L=3", 'model.path="1"', "a=b c", "d=null", 'e=[true, "f"]']
    assert point_changes(record, Point(1, "x", setting)) == changes


def test_nothing_is_made_where_a_setting_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"online\.L"):
        prepared(esm(tmp_path), "online.L=3,0")
    with pytest.raises(ConfigError, match=r"`task\.eval_split` of the generated task: train, dev or test"):
        prepared(esm(tmp_path), "online.L=3,5", choose_on="validation")
    assert [path.name for path in tmp_path.iterdir()] == ["esm.yaml"]


def test_a_file_that_only_what_is_swept_makes_right(tmp_path: Path) -> None:
    """What the overrides change of it is not known then."""
    path = esm(tmp_path)
    path.write_text(path.read_text() + "online: {L: 0}\n")
    folder = prepared(path, "online.L=3,5", overrides=("online.beta=0.25",))
    assert folder.read().changes == {} and len(folder.read().points) == 2


def test_a_file_that_only_an_override_makes_right(tmp_path: Path) -> None:
    """In every setting."""
    path = esm(tmp_path)
    path.write_text(path.read_text() + "online: {L: 0}\n")
    folder = prepared(path, "online.beta=0.5,0.25", overrides=("online.L=4",))
    record = folder.read()
    configs = [point_config(folder, record, point).online for point in record.points]
    assert [(online.L, online.beta) for online in configs] == [(4, 0.5), (4, 0.25)]


def test_a_run_says_which_of_the_sweep_s_it_is(tmp_path: Path) -> None:
    folder = prepared(esm(tmp_path), "online.L=3,5", overrides=("online.beta=0.25",))
    record = folder.read()
    record.report = Point(2, "chosen", record.points[1].setting)
    maker = RunMaker(folder, record)
    second, report = (maker.make(point, None).read() for point in (record.points[1], record.report))
    for made, is_report in ((second, False), (report, True)):
        assert made.sweep is not None and made.sweep.report is is_report
        assert (made.sweep.folder, made.sweep.number) == (folder.path.name, 2)
        assert made.sweep.setting == {"online.L": 5}
        assert made.changes == {"online.beta": 0.25, "online.L": 5}
        assert (made.name, made.config["online"]["L"], made.versions) == ("n", 5, maker.versions)
        assert (list(made.stages), made.seeds["run"]) == (["mine", "eval"], 5)
    assert (second.config["task"]["eval_split"], report.config["task"]["eval_split"]) == ("dev", "test")
    folder.run(record.points[0]).path.mkdir()  # by hand: no run
    assert [run.path.name for run in maker.made(record.all_points)] == [record.points[1].run_id, "chosen"]
    assert record.all_points[-1] == record.report and not list(folder.path.glob("unfinished-*"))
