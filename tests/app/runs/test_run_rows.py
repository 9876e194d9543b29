"""The rows of the list of runs: their figures, their order, and what is read from the end of a log."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as struct

from app.cli import main
from app.runs import run_list
from app.runs.run_list import RunList, RunRow, read_progress, stage_states
from app.runs.run_names import RunName, composition_words, setting_words, value_words
from engine.events import Event, StageFinished, StageProgress, StageStarted, Verdict
from engine.run.directory import RunDirectory, StageRecord, inspect
from engine.run.lock import RunLock
from engine.run.stage_state import FINISHED, RUNNING, SKIPPED, STOPPED, WAITING, StageState
from tests.two_runs import make_run

AT_WORK: list[Event] = [
    StageStarted(stage="eval", total=40, unit="answers"),
    StageProgress(stage="eval", done=10, total=40, elapsed=5.0),
]
VERDICT = Verdict(
    method="esm", baseline="greedy", metric="accuracy", n=4, value=0.75, baseline_value=0.5, difference=0.25, low=0.1,
    high=0.4, cost=0.5,
)  # fmt: skip


def row_of(tmp_path: Path, status: str = "failed", **changes: Any) -> RunRow:
    """A run of four stages: 61 s on the first, 5 s on the second, one is skipped, one waits."""
    run = RunDirectory(make_run(tmp_path, "a", AT_WORK, status=status))
    record = run.read()
    record.stages = {
        "mine": StageRecord(status="finished", seconds=61.0, verdict=VERDICT),
        "eval": StageRecord(status="running", seconds=5.0), "extra": StageRecord(skipped=True),
        "last": StageRecord(),
    }  # fmt: skip
    run.write(record)
    return replace(RunRow(inspect(run.path), read_progress(run)), **changes)


def test_the_figures_of_a_run(tmp_path: Path) -> None:
    """Two of four stages are done, a quarter of one: 2.25 of 4."""
    row = row_of(tmp_path)
    assert (row.seconds, row.cost, row.fraction, row.resumable) == (66.0, 0.5, 2.25 / 4, True)
    assert [(name, stage.status) for name, stage in row.stages.items()] == [
        ("mine", FINISHED), ("eval", RUNNING), ("extra", SKIPPED), ("last", WAITING),
    ]  # fmt: skip
    assert stage_states(row.status)["eval"].status == STOPPED, "the record knows no items"
    works = replace(row, status=replace(row.status, state="running", pid=1))
    assert (works.seconds, works.working, works.resumable) == (71.0, True, False), (
        "5 s of this attempt are added"
    )
    done = replace(row, status=replace(row.status, state="finished"))
    assert not done.resumable and replace(row, progress=StageState("")).fraction == 2 / 4
    row.record.stages = {}
    nothing = RunRow(row.status, StageState(""))
    assert (nothing.fraction, nothing.cost, nothing.seconds) == (0.0, None, 0.0)


def test_time_and_cost_of_a_run(tmp_path: Path) -> None:
    """The time of a finished stage is in the record, which its last report adds nothing to; a cost of 0 is known."""
    row = row_of(tmp_path)
    works = replace(row, status=replace(row.status, state="running", pid=1))
    works.record.stages["eval"] = StageRecord(
        status="finished", seconds=7.0, verdict=struct(VERDICT, cost=0.0)
    )
    assert (works.progress.name, works.progress.elapsed, works.seconds) == ("eval", 5.0, 68.0)
    assert works.cost == 0.5
    works.record.stages["mine"].verdict = None
    assert works.cost == 0.0


def test_the_pace_of_a_stage_whose_beginning_is_not_read(tmp_path: Path) -> None:
    """It counts from the first report that is read; of a single one all is taken, and a stage that begins again begins
    anew."""
    first, second = (StageProgress(stage="eval", done=done, total=40, elapsed=done / 2) for done in (10, 30))
    for events, known in (
        ([first], (10, 0, 5.0, 0.0)), ([first, second], (30, 10, 15.0, 5.0)),
        ([second, AT_WORK[0], first], (10, 0, 5.0, 0.0)), ([first, AT_WORK[0], second], (30, 0, 15.0, 0.0)),
    ):  # fmt: skip
        found = read_progress(RunDirectory(make_run(tmp_path, "a", events)))
        assert (found.done, found.begun_at, found.elapsed, found.begun_after) == known


def test_what_was_unreadable_and_is_no_more(tmp_path: Path) -> None:
    run = RunDirectory(make_run(tmp_path, "a", []))
    whole = run.record.read_bytes()
    run.record.write_bytes(b"{")
    runs = RunList(tmp_path)
    assert runs.read() == [] and list(runs.unreadable) == [run.path]
    run.record.write_bytes(whole)
    assert len(runs.read()) == 1 and runs.unreadable == {}


def test_a_folder_is_listed_once_however_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runs = RunList(Path("outputs"))
    runs.add_folder(tmp_path / "outputs")
    runs.add_folder(tmp_path / "others")
    runs.add_folder(Path("others"))
    assert runs.folders == [Path("outputs"), tmp_path / "others"]


def test_the_title_of_a_run(tmp_path: Path) -> None:
    row = row_of(tmp_path)
    named = replace(row, name=RunName("online.L=3"))
    assert [each.title for each in (row, named)] == ["a", "online.L=3"]


def test_the_newest_run_comes_first_of_all_folders(tmp_path: Path) -> None:
    """Of two that were made in the same second the one with the later folder."""
    paths = []
    for folder, created, name in (("one", 5.0, "1"), ("two", 7.0, "2"), ("one", 5.0, "3")):
        run = RunDirectory(make_run(tmp_path / folder, "a", []))
        record = run.read()
        record.created, record.run_id = created, name
        run.write(record)
        paths.append(run.path.rename(run.path.with_name(name)))
    runs = RunList(tmp_path / "one")
    for _ in range(2):
        runs.add_folder(tmp_path / "two")
    assert runs.folders == [tmp_path / "one", tmp_path / "two"]
    assert [row.path for row in runs.read()] == [paths[1], paths[2], paths[0]]
    RunDirectory(paths[0]).record.write_text("{")
    assert len(runs.read()) == 2 and list(runs.unreadable) == [paths[0]]


def test_of_a_long_log_the_end_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first report that is read counts as the beginning: 20 items in the 10 s after it."""
    run = RunDirectory(make_run(tmp_path, "a", [
        AT_WORK[0], *(StageProgress(stage="eval", done=done, total=40, elapsed=done / 2) for done in (10, 20, 30, 40)),
    ]))  # fmt: skip
    whole = read_progress(run)
    assert (whole.done, whole.begun_at, whole.elapsed) == (40, 0, 20.0)
    lines = run.events.read_bytes().splitlines(keepends=True)
    monkeypatch.setattr(run_list, "_TAILS", (sum(map(len, lines[-4:])),))
    part = read_progress(run)  # the first of four lines may be torn
    assert (part.done, part.begun_at, part.elapsed, part.items_per_second) == (40, 20, 20.0, 2.0)
    with run.events.open("ab") as log:
        log.write(b'{"type":"StageProgress","broken\n' + lines[-1].rstrip(b"\n"))
    assert read_progress(run).done == 40
    assert read_progress(RunDirectory(tmp_path / "none")) == StageState("")


def test_a_stage_is_found_behind_as_many_decisions_as_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of the log that is read grows until a stage is in it; its report of 10 of 40 is then known."""
    run = RunDirectory(
        make_run(tmp_path, "a", [AT_WORK[0], StageProgress(stage="eval", done=10, total=40, elapsed=5.0)])
    )
    with run.events.open("ab") as log:
        log.write(b'{"type":"Notice","text":"a decision"}\n' * 100)
    monkeypatch.setattr(run_list, "_TAILS", (200, 400))
    assert read_progress(run) == StageState("")
    monkeypatch.setattr(run_list, "_TAILS", (200, 400, 1 << 16))
    assert (read_progress(run).name, read_progress(run).done) == ("eval", 10)


def test_of_several_stages_the_last_one_counts(tmp_path: Path) -> None:
    more = [StageFinished(stage="eval", seconds=9.0), StageStarted(stage="b", total=3)]
    run = RunDirectory(make_run(tmp_path, "a", [*AT_WORK, *more]))
    assert (read_progress(run).name, read_progress(run).total) == ("b", 3)


def test_a_run_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = row_of(tmp_path)
    assert main(["ctl", "show", str(row.path), "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    created = row.record.created
    assert form == {
        "form": "steer-tui run", "version": 1, "path": str(row.path), "name": "a", "run_id": row.path.name,
        "state": "failed", "created": created, "fraction": 0.5625, "stage": "eval", "done": 10, "total": 40,
        "eta": None, "eta_all": None, "pid": None, "host": None, "failure": None, "seed": 0, "versions": {},
        "attempts": row.record.attempts, "config": str(row.path / "config.yaml"),
        "stages": [
            {"stage": "mine", "skipped": False, "status": "finished", "seconds": 61.0, "summary": {}, "files": []},
            {"stage": "eval", "skipped": False, "status": "running", "seconds": 5.0, "summary": {}, "files": []},
            {"stage": "extra", "skipped": True, "status": "pending", "seconds": 0.0, "summary": {}, "files": []},
            {"stage": "last", "skipped": False, "status": "pending", "seconds": 0.0, "summary": {}, "files": []},
        ],
    }  # fmt: skip


def test_settings_in_words() -> None:
    """Up to two fields have their sections; of more only those whose last part is not unique."""
    two = {"online.L": 3, "run.seed": 1}
    assert setting_words(two) == "online.L=3 seed=1" and setting_words(two, ["run.seed"]) == "seed=1"
    assert setting_words(two | {"a.k": 0.5, "b.k": 0.25}) == "L=3 seed=1 a.k=0.5 b.k=0.25"
    assert setting_words({}) == setting_words(two, []) == "as configured"
    long = {"a": "x" * 25, "b": list(range(30))}
    assert setting_words(long) == f"a=…{'x' * 23} b=30 values"
    assert setting_words({"a": "x" * 24}) == f"a={'x' * 24}"
    assert [value_words(value) for value in (1e-06, 0.1234567891, True, None, [1, "é"])] == [
        "1e-06", "0.1234567891", "true", "null", '[1, "é"]',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "runs", "report", "words"),
    [
        (4, 4, False, ""), (4, 4, True, "4 settings + 1 test run"), (4, 8, False, "4 settings × 2 seeds"),
        (1, 3, True, "1 setting × 3 seeds + 1 test run"), (4, 9, False, "4 settings, 9 runs"),
    ],
)  # fmt: skip
def test_what_runs_there_are(settings: int, runs: int, report: bool, words: str) -> None:
    assert composition_words(settings, runs, report) == words


def test_a_run_is_read_again_only_when_it_has_changed_or_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_run(tmp_path, "a", AT_WORK)
    runs = RunList(tmp_path)
    [first] = runs.read()
    [second] = runs.read()
    assert second is first
    with RunDirectory(path).events.open("ab") as log:
        log.write(b"{}\n")
    [third] = runs.read()
    assert third is not first
    lock = RunLock(RunDirectory(path).lock)
    [works] = runs.read()
    [still] = runs.read()
    assert works.working and still is not works
    lock.release()


def test_a_run_that_was_moved_away_while_it_was_read_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_run(tmp_path, "a", [])
    monkeypatch.setattr(run_list, "run_folders", lambda folder: [path, tmp_path / "gone"])
    runs = RunList(tmp_path)
    assert [row.path for row in runs.read()] == [path] and runs.unreadable == {}
    RunDirectory(path).record.write_text("{")
    assert runs.read() == [] and list(runs.unreadable) == [path]
    runs = RunList(tmp_path)
    assert runs.read() == runs.read() == [] and list(runs.unreadable) == [path]


def test_a_stage_that_the_record_settles_is_not_as_its_log_has_it(tmp_path: Path) -> None:
    """It was finished or left out since, or is to be done again; the log has a quarter of it."""
    for record, words in (
        (StageRecord(status="finished"), (FINISHED, 1.0, False)),
        (StageRecord(status="running", skipped=True), (SKIPPED, 1.0, False)),
        (StageRecord(status="stale"), (WAITING, 0.0, True)),
        (StageRecord(status="stopped"), (RUNNING, 0.25, False)),
    ):
        row = row_of(tmp_path)
        row.record.stages["eval"] = record
        stage = row.stages["eval"]
        assert (stage.status, stage.fraction, stage.stale) == words


def test_stages_as_the_record_has_them(tmp_path: Path) -> None:
    """A stage that is at work by the record has stopped where no worker works."""
    row = row_of(tmp_path)
    row.record.stages = {
        "mine": StageRecord(
            status="finished", seconds=7.0, summary={"n": 2}, files=["a.json"], verdict=VERDICT
        ),
        "eval": StageRecord(status="running"),
    }
    for pid, status in ((None, STOPPED), (1, RUNNING)):
        states = stage_states(replace(row.status, pid=pid, state="running" if pid else "failed"))
        assert states["mine"] == StageState(
            "mine", FINISHED, seconds=7.0, summary={"n": 2}, files=("a.json",), verdict=VERDICT
        )
        assert states["eval"] == StageState("eval", status)
