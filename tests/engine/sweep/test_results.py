"""What the settings of a sweep reached, and what is said about it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from app.blocks.printed import print_blocks
from app.sweep.summary import summary
from app.swept.words import remarks
from app.terminal.text_console import make_console
from engine.errors import RunError
from engine.events import Event
from engine.events.verdict import Verdict
from engine.run.directory import RunDirectory, StageRecord, SweepPoint, inspect
from engine.run.lock import LockInfo, RunLock
from engine.sweep import results
from engine.sweep.queue import Queue
from engine.sweep.resolution import resolution
from engine.sweep.results import (
    RunScores,
    SettingResult,
    SweepReader,
    _arm,
    _averaged,
    _best,
    _pooled,
    _scores,
    _table,
    stage_counts,
)
from engine.sweep.sweep import Axis, Point, SweepFolder, SweepRecord
from tests.two_runs import evaluated, make_run


def answered(method: str, right: Sequence[int], n: int) -> list[Event]:
    return [evaluated(method, f"e{number}", number in right) for number in range(n)]


def add_run(folder: SweepFolder, point: Point, right: int, n: int = 40) -> None:
    """A finished run: greedy gets the first ten of `n` right, esm the first `right`."""
    events = [*answered("greedy", range(10), n), *answered("esm", range(right), n)]
    made = RunDirectory(make_run(folder.path.parent.parent, folder.path.parent.name, events, seed=0))
    record = made.read()
    stage = record.stages["eval"]
    stage.status, stage.summary = "finished", {}
    stage.verdict = Verdict(
        method="esm", baseline="greedy", metric="accuracy", n=n, value=right / n, baseline_value=10 / n,
        difference=(right - 10) / n, low=0, high=1, items="problems", tokens=100.0 + point.number,
    )  # fmt: skip
    record.run_id = point.run_id
    record.sweep = SweepPoint(folder=folder.path.name, number=point.number, setting=point.setting)
    made.write(record)
    made.path.rename(folder.run(point).path)


def make_sweep(outputs: Path, rights: Sequence[int], done: int = 99) -> SweepFolder:
    """A sweep over online.L with two seeds each; `rights`: what esm gets right under each."""
    folder = SweepFolder(outputs / "name" / "sweep-1")
    values = list(range(1, len(rights) + 1))
    points = [
        Point(2 * i + s + 1, f"1-{i}-{s}", {"online.L": v, "run.seed": s})
        for i, v in enumerate(values)
        for s in (0, 1)
    ]
    axes = [Axis("online.L", values), Axis("run.seed", [0, 1])]
    folder.write(
        SweepRecord(
            name="name", created=1.0, status="finished", specs=["online.L=…"], axes=axes, points=points
        )
    )
    for number, point in enumerate(points[:done]):
        add_run(folder, point, rights[number // 2])
    return folder


def test_seeds_are_one_setting_and_their_items_are_no_further_items(tmp_path: Path) -> None:
    found = SweepReader(make_sweep(tmp_path, [20, 38, 21])).read()
    assert [one.setting for one in found.settings] == [{"online.L": v} for v in (1, 2, 3)]
    assert [one.n for one in found.settings] == [40, 40, 40] and found.fields == ["online.L"]
    best = found.settings[1]
    assert found.best is best and best.value == 0.95 and best.baseline_value == 0.25
    assert best.gain is not None and best.gain.difference == pytest.approx(0.7) and 0.5 < best.gain.low < 0.7
    assert best.tokens == (103 + 104) / 2, "of both seeds"
    assert found.resolution is not None and found.resolution.tied == ()
    assert "better than each of the 2 others" in " ".join(remarks(found))


def test_a_setting_with_one_seed_has_the_interval_of_its_run(tmp_path: Path) -> None:
    """Not one drawn anew from the same items: here from 0 to 1, as the run's verdict says. Two have a new one."""
    folder = make_sweep(tmp_path, [20, 30])
    record = folder.read()
    record.points = record.points[:3]
    folder.write(record)
    two, one = SweepReader(folder).read().settings
    assert one.gain is not None and (one.gain.difference, one.gain.low, one.gain.high) == (0.5, 0.0, 1.0)
    assert len(one.scores) == 40, "settings are compared over the items as before"
    assert two.gain is not None and 0.0 < two.gain.low < two.gain.difference < two.gain.high < 1.0


def test_scores_that_the_verdict_is_not_about_are_left_out(tmp_path: Path) -> None:
    """A verdict of another figure than the items' right and wrong."""
    folder = make_sweep(tmp_path, [20, 30])
    for point in folder.read().points[:2]:
        run = folder.run(point)
        record = run.read()
        verdict = record.stages["eval"].verdict
        assert verdict is not None
        record.stages["eval"].verdict = msgspec.structs.replace(verdict, value=0.51 + point.number / 100)
        run.write(record)
    found = SweepReader(folder).read()
    assert [len(one.scores) for one in found.settings] == [0, 40] and found.compared == [1]
    assert found.settings[0].value == pytest.approx((0.52 + 0.53) / 2) and found.settings[0].gain is None
    assert found.settings[1].value == 0.75 and found.settings[1].gain is not None


def test_of_several_verdicts_that_of_the_last_stage_is_compared(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, [20, 30], done=1)
    run = folder.run(folder.read().points[0])
    record = run.read()
    stage = record.stages["eval"]
    assert stage.verdict is not None
    first = msgspec.structs.replace(stage.verdict, value=0.9, baseline="random")
    record.stages = {
        "earlier": StageRecord(status="finished", verdict=first),
        "eval": stage,
        "later": StageRecord(),
    }
    run.write(record)
    scores = _scores(run.read(), run.path)
    assert scores is not None and scores.verdict.baseline == "greedy" and len(scores.base) == 40
    assert sum(scores.scores.values()) == 20 and sum(scores.base.values()) == 10
    record.stages = {"eval": StageRecord(verdict=msgspec.structs.replace(stage.verdict, baseline="another"))}
    assert _scores(record, run.path) == RunScores(record.stages["eval"].verdict), "it has no items"  # type: ignore[arg-type]
    record.stages = {"later": StageRecord()}
    assert _scores(record, run.path) is None


def test_without_items_a_single_run_has_its_own_interval_and_several_have_means_alone() -> None:
    """A figure of tokens where only some runs have it is that of those."""
    verdict = Verdict(
        method="m", baseline="b", metric="accuracy", n=30, value=0.7, baseline_value=0.4, difference=0.3, low=0.1,
        high=0.45, tokens=80.0,
    )  # fmt: skip
    other = msgspec.structs.replace(verdict, value=0.5, baseline_value=0.3, difference=0.2, n=20, tokens=None)
    plain = SettingResult({}, (), ())
    one, two = (_pooled(plain, [RunScores(v) for v in runs]) for runs in ([verdict], [verdict, other]))
    assert one.gain is not None and (one.gain.difference, one.gain.low, one.gain.high) == (0.3, 0.1, 0.45)
    assert (one.n, one.value, one.baseline_value, one.tokens) == (30, 0.7, 0.4, 80.0)
    assert (two.gain, two.tokens, two.verdict) == (None, 80.0, verdict)
    assert (two.value, two.baseline_value) == pytest.approx((0.6, 0.35))


@pytest.mark.parametrize(
    ("status", "alive", "state"),
    [
        ("running", True, "running"), ("running", False, "interrupted"), ("prepared", True, "prepared"),
        ("prepared", False, "prepared"), ("stopped", False, "stopped"), ("failed", True, "failed"),
    ],
)  # fmt: skip
def test_a_sweep_whose_queue_vanished_is_interrupted(
    status: str, alive: bool, state: str, tmp_path: Path
) -> None:
    found = SweepReader(make_sweep(tmp_path, [20], done=0)).read()
    found.record.status = status
    assert replace(found, alive=alive).state == state
    assert found.fields == [] and found.best is None and found.report is None


def test_stages_that_were_taken_over_are_counted_apart_and_the_reported_setting_alone(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, [20, 30])
    record = folder.read()
    record.report, record.choose_on = Point(3, "1-report", {"online.L": 2, "run.seed": 0}), "dev"
    folder.write(record)
    add_run(folder, record.report, 34)
    second = folder.run(record.points[1])
    taken = second.read()
    taken.stages["eval"].shared_from = record.points[0].run_id
    second.write(taken)
    found = SweepReader(folder).read()
    assert found.counts == {"eval": (4, 1)} and (found.done, found.total) == (5, 5)
    assert found.report is not None and found.report.value == 0.85 and found.best is found.settings[1]
    assert [one.value for one in found.settings] == [0.5, 0.75]


def test_the_setting_with_the_best_figure_is_reported_once(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, [20, 30, 25])
    record = folder.read()
    assert not _choose(folder) and folder.read().report is None, "compared on what is reported"
    record.choose_on = "dev"
    folder.write(record)
    chosen = Point(3, "1-report", {"online.L": 2, "run.seed": 0})
    assert _choose(folder) and folder.read().report == chosen
    for point in record.points[:2]:
        shutil.rmtree(folder.run(point).path)
        add_run(folder, point, 40)
    assert _choose(folder) and folder.read().report == chosen


def _choose(folder: SweepFolder) -> bool:
    lock = RunLock(folder.lock)
    try:
        return Queue(folder, folder.read(), lock)._choose()
    finally:
        lock.release()


@pytest.mark.parametrize(
    ("state", "again"), [("interrupted", True), ("prepared", True), ("failed", False), ("stopped", False)]
)
def test_only_a_worker_that_vanished_is_tried_again_five_times_in_all(
    state: str, again: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = make_sweep(tmp_path, [20], done=1)
    record = folder.read()
    point, lock = record.points[0], RunLock(folder.lock)
    queue = Queue(folder, record, lock)
    found = inspect(folder.run(point).path)
    tried: list[bool] = []
    for _ in range(5):
        queue._processes[point.run_id] = Ended()  # type: ignore[assignment]
        tried.append(queue._is_left(point, replace(found, state=state)))
    lock.release()
    assert tried == [again] * 4 + [False]
    assert caplog.messages[0] == f"run 1-0-0 ended as {state}"
    assert not queue._is_left(point, replace(found, state=state)), "given up"
    assert queue._is_left(record.points[1], None) and not queue._is_left(record.points[1], found)


class Ended:
    """A process that is through."""

    def poll(self) -> int:
        return 1


def result(number: int, value: float, tokens: float, lower: bool = False) -> SettingResult:
    verdict = Verdict(
        method="esm", baseline="greedy", metric="accuracy", n=1, value=value, baseline_value=0, difference=0, low=0,
        high=0, lower_is_better=lower,
    )  # fmt: skip
    point = Point(number, str(number), {})
    return SettingResult({}, (point,), ("finished",), verdict, 1, value, 0.0, tokens=tokens)


@pytest.mark.parametrize(
    ("settings", "best"),
    [
        ([result(1, 0.5, 10), result(2, 0.7, 90), result(3, 0.6, 10)], 2),
        ([result(1, 0.7, 90), result(2, 0.7, 80), result(3, 0.6, 10)], 2),
        ([result(2, 0.7, 80), result(1, 0.7, 80)], 1),
        ([result(1, 50, 50, lower=True), result(2, 40, 40, lower=True), result(3, 45, 45, lower=True)], 2),
    ],
    ids=["value", "fewer tokens", "the first", "lower is better"],
)
def test_which_setting_is_the_best(settings: list[SettingResult], best: int) -> None:
    found = _best(settings)
    assert found is not None and found.points[0].number == best
    assert _best([]) is None


def test_an_item_is_the_mean_of_its_seeds_and_settings_share_their_items() -> None:
    x, y, z = ("x", "?"), ("y", "?"), ("z", "?")
    assert _averaged([{x: 1.0, y: 0.0}, {x: 0.0, y: 0.0}, {y: 1.0, z: 1.0}]) == {x: 0.5, y: 1 / 3, z: 1.0}
    tables = [{x: 0.1, y: 0.2, z: 0.3}, {}, {z: 0.6, x: 0.4}]
    settings = [replace(result(n, 0.5, 1), scores=scores) for n, scores in enumerate(tables)]
    assert _table(settings) == ([[0.1, 0.3], [0.4, 0.6]], [0, 2])
    assert _table(
        [replace(one, scores=scores) for one, scores in zip(settings, ({x: 1}, {}, {y: 1}), strict=True)]
    ) == ([], [])


def test_several_seeds_have_the_items_of_all_of_them_and_no_tokens_are_a_number_too() -> None:
    """Of three items each seed has two: 1, 1/2 and 0 are 1/2 on average, and 0, 0 and 1 are 1/3."""
    x, y, z = ("x", "?"), ("y", "?"), ("z", "?")
    verdict = Verdict(
        method="m", baseline="b", metric="accuracy", n=2, value=1.0, baseline_value=0.0, difference=1.0, low=0.1,
        high=1.0, tokens=0.0,
    )  # fmt: skip
    runs = [
        RunScores(verdict, {x: 1.0, y: 1.0}, {x: 0.0, y: 0.0}),
        RunScores(msgspec.structs.replace(verdict, tokens=80.0), {y: 0.0, z: 0.0}, {y: 0.0, z: 1.0}),
    ]
    found = _pooled(SettingResult({}, (), ()), runs)
    assert (found.n, found.value, found.tokens) == (3, 0.5, 40.0)
    assert found.baseline_value == pytest.approx(1 / 3)
    assert found.gain is not None and found.gain.difference == pytest.approx(0.5 - 1 / 3)


def test_an_item_is_told_from_another_by_what_it_asks() -> None:
    """Two data sets may count from 1; an item without a score has none."""
    items = [("1", "one?", 1.0), ("1", "other?", 0.0), ("2", "two?", None)]
    arms = {
        number: SimpleNamespace(
            name=name,
            items={
                n: SimpleNamespace(id=i, asked=asked, score=score)
                for n, (i, asked, score) in enumerate(items)
            },
        )
        for number, name in enumerate(("greedy", "esm"))
    }
    run: Any = SimpleNamespace(arms=arms)
    assert _arm(run, "esm") == {("1", "one?"): 1.0, ("1", "other?"): 0.0} and _arm(run, "static") == {}


def test_runs_and_stages_count_once_they_are_finished(tmp_path: Path) -> None:
    found = SweepReader(make_sweep(tmp_path, [20], done=0)).read()
    states = ("finished", "failed", "running", "interrupted", "stopped", "prepared", "finished")
    runs: Any = {str(number): SimpleNamespace(state=state) for number, state in enumerate(states)}
    assert replace(found, runs=runs).done == 2
    records: Any = [
        SimpleNamespace(stages={"mine": mine, "eval": StageRecord(status=status)})
        for mine, status in (
            (StageRecord(status="finished"), "running"),
            (StageRecord(status="finished", shared_from="1"), "finished"),
            (StageRecord(status="failed"), "pending"),
        )
    ]
    assert stage_counts(records) == {"mine": (1, 1), "eval": (1, 0)}


def test_the_items_of_a_finished_run_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    items = results.read_items
    monkeypatch.setattr(results, "read_items", lambda path: (read.append(path.name), items(path))[1])
    reader = SweepReader(make_sweep(tmp_path, [20, 30]))
    first, second = reader.read(), reader.read()
    assert sorted(read) == ["1-0-0", "1-0-1", "1-1-0", "1-1-1"]
    assert first.settings == second.settings


def test_a_run_whose_items_cannot_be_read_has_its_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(path: Path) -> None:
        raise RunError(what="damaged", where=str(path), hint="")

    folder = make_sweep(tmp_path, [20], done=1)
    monkeypatch.setattr(results, "read_items", damaged)
    run = folder.run(folder.read().points[0])
    scores = _scores(run.read(), run.path)
    assert scores is not None and scores.verdict.value == 0.5 and not scores.scores


def test_of_the_settings_that_are_compared_the_best_is_named_by_its_place(tmp_path: Path) -> None:
    """The first has no items that its verdict is about, and is left out."""
    folder = make_sweep(tmp_path, [20, 30, 38])
    for point in folder.read().points[:2]:
        _with_verdict(folder, point, value=0.51)
    found = SweepReader(folder).read()
    assert found.compared == [1, 2] and found.best is found.settings[2]
    assert found.resolution is not None and (found.resolution.best, found.resolution.tied) == (1, ())


@pytest.mark.parametrize("done", [6, 8])
def test_how_much_too_good_the_best_is_goes_by_what_is_better(tmp_path: Path, done: int) -> None:
    """Also while a setting has no figure yet."""
    folder = make_sweep(tmp_path, [20, 19, 25, 30], done)
    for point in folder.read().points[:done]:
        _with_verdict(folder, point, lower_is_better=True)
    found = SweepReader(folder).read()
    assert found.best is found.settings[1]
    assert found.resolution == resolution(_table(found.settings)[0], 1, lower_is_better=True)
    assert found.resolution != resolution(_table(found.settings)[0], 1)


def _with_verdict(folder: SweepFolder, point: Point, **changes: object) -> None:
    run = folder.run(point)
    record = run.read()
    verdict = record.stages["eval"].verdict
    assert verdict is not None
    record.stages["eval"].verdict = msgspec.structs.replace(verdict, **changes)
    run.write(record)


def test_a_sweep_is_alive_while_its_queue_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_sweep(tmp_path, [20], done=0)
    lock = RunLock(folder.lock)
    try:
        assert SweepReader(folder).read().alive
    finally:
        lock.release()
    assert not SweepReader(folder).read().alive
    monkeypatch.setattr("engine.sweep.sweep.read_lock", lambda path: LockInfo(1, "here", 0.0, alive=False))
    assert not SweepReader(folder).read().alive, "its lock is still there, as of one that was killed"


def test_a_sweep_that_cannot_tell_its_settings_apart_says_so(tmp_path: Path) -> None:
    found = SweepReader(make_sweep(tmp_path, [20, 21, 22])).read()
    words = " ".join(remarks(found))
    assert "40 problems are too few to tell the best setting from any of the 2 others" in words
    assert "It was picked from 3" in words and "the best figure is too good" in words


def test_a_setting_has_its_result_once_all_its_seeds_are_through(tmp_path: Path) -> None:
    found = SweepReader(make_sweep(tmp_path, [20, 30], done=3)).read()
    assert [one.whole for one in found.settings] == [True, False] and found.best is found.settings[0]
    assert found.settings[1].states == ("finished", "") and found.done == 3 and found.total == 4
    assert found.settings[1].scores and found.compared == [0]
    record = found.folder.read()
    record.choose_on = "dev"
    found.folder.write(record)
    found = SweepReader(found.folder).read()
    assert found.done == 3 and found.total == 5, "with the one that will be reported"
    assert "Settings without a result yet: 1." in " ".join(remarks(found))


@pytest.mark.parametrize("width", [70, 160])
def test_the_summary_has_the_baseline_where_it_fits(tmp_path: Path, width: int) -> None:
    found = SweepReader(make_sweep(tmp_path, [20, 38])).read()
    console = make_console()
    console.width = width
    with console.capture() as captured:
        print_blocks(summary(found), console, ["setting"])
    told = captured.get()
    assert "★" in told
    (header,) = (line for line in told.splitlines() if "95% interval" in line)
    assert ("baseline" in header) == (width == 160)


def test_the_state_is_read_back(tmp_path: Path) -> None:
    """Which is JSON with a line for each field."""
    folder = make_sweep(tmp_path, [20])
    assert msgspec.to_builtins(folder.read())["points"][1]["setting"] == {"online.L": 1, "run.seed": 1}
    text = folder.state.read_text()
    assert text.startswith('{\n  "') and text.endswith("\n}\n")


def test_a_setting_of_which_one_finished_run_has_no_figure_has_none(tmp_path: Path) -> None:
    """The mean of the others would be of other seeds than its neighbours'."""
    reader = SweepReader(SweepFolder(tmp_path))
    points = [Point(number, f"run-{number}", {"run.seed": number}) for number in range(2)]
    runs: Any = {point.run_id: SimpleNamespace(state="finished", record=None) for point in points}
    scores: Any = object()
    found = iter((scores, None))
    reader._of_run = lambda record, path: next(found)  # type: ignore[method-assign]
    assert reader._setting(points, runs).verdict is None
