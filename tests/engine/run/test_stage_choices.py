"""Stages begun again, skipped and made the last one: the rules on records, then real workers that are killed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from app.runs.client import choose_stage, prepare_resume, send
from engine.errors import DataError, RunError
from engine.events import Event, StageBegunAgain, StagesChosen
from engine.run import stage_choices
from engine.run.directory import RunDirectory, RunRecord, StageRecord, inspect, new_record
from engine.run.stage_choices import KEPT_TEXTS, Choice, apply, change_of, chosen
from tests.exactly import exactly

MakeRun = Callable[..., RunDirectory]
Worker = Callable[[RunDirectory], subprocess.Popen[bytes]]
EventsOf = Callable[[RunDirectory], list[Event]]
WaitUntil = Callable[..., None]

FIRST, SECOND = "example_stages:Count", "example_stages:CountAgain"


def record_of(**statuses: str) -> RunRecord:
    """A run of two methods; `agent_graphs` stands for `agent-graphs`."""
    names = {name.replace("_", "-"): status for name, status in statuses.items()}
    record = new_record("r", "1", seed=0, stages=list(names), config={}, versions={})
    for name, status in names.items():
        record.stages[name].status = status
    return record


def esm(
    mine: str, select: str, memory: str, eval: str, clusters: str = "pending", evolve: str = "pending"
) -> RunRecord:
    return record_of(mine=mine, select=select, memory=memory, eval=eval, clusters=clusters, evolve=evolve)


DONE, NOT = "finished", "pending"


@pytest.mark.parametrize(
    ("record", "choice", "stage", "undo", "changed"),
    [
        (esm(DONE, DONE, DONE, DONE, DONE, DONE), "again", "select", False, "select memory eval"),
        (esm(DONE, DONE, "failed", NOT), "again", "mine", False, "mine select memory"),
        (esm(DONE, DONE, DONE, DONE, DONE, "stopped"), "again", "clusters", False, "clusters evolve"),
        (esm(DONE, NOT, NOT, NOT), "skip", "select", False, "select memory eval"),
        (esm(DONE, DONE, "failed", NOT), "skip", "memory", False, "memory eval"),
        (esm(DONE, "stopped", DONE, NOT), "skip", "select", False, "select eval"),
        (esm(DONE, NOT, NOT, NOT), "skip", "clusters", False, "clusters evolve"),
        (esm(DONE, NOT, NOT, NOT), "last", "select", False, "memory eval clusters evolve"),
        (esm(DONE, DONE, DONE, DONE, NOT, NOT), "last", "mine", False, "clusters evolve"),
    ],
)
def test_what_a_choice_changes(
    record: RunRecord, choice: Choice, stage: str, undo: bool, changed: str
) -> None:
    assert list(change_of(record, choice, stage, undo).stages) == changed.split()


def test_a_skip_is_taken_back_with_what_the_stage_needs() -> None:
    record = esm(DONE, NOT, NOT, NOT)
    apply(record, change_of(record, "skip", "select"))
    assert [name for name, stage in record.stages.items() if stage.skipped] == ["select", "memory", "eval"]
    back = change_of(record, "skip", "memory", undo=True)
    assert back.stages == ("select", "memory")
    apply(record, back)
    assert chosen(record) == StagesChosen(skipped=["eval"])


def test_the_last_one_is_taken_back_but_for_what_needs_a_skipped_stage() -> None:
    record = esm(DONE, NOT, NOT, NOT)
    apply(record, change_of(record, "last", "mine"))
    later = ("select", "memory", "eval", "clusters", "evolve")
    assert change_of(record, "last", "mine", undo=True).stages == later
    record = record_of(mine=DONE, select=NOT, clusters=NOT, memory=NOT, evolve=NOT)
    apply(record, change_of(record, "skip", "select"))
    apply(record, change_of(record, "last", "clusters"))
    assert chosen(record).skipped == ["select", "memory", "evolve"]
    assert change_of(record, "last", "clusters", undo=True).stages == ("evolve",)


@pytest.mark.parametrize(
    ("record", "choice", "stage", "undo", "working", "what", "hint"),
    [
        (
            esm(DONE, NOT, NOT, NOT), "skip", "pool", False, False,
            "the run has no stage `pool`", "one of mine, select, memory, eval, clusters, evolve",
        ),
        (
            esm(DONE, NOT, NOT, NOT), "again", "select", False, False,
            "`select` has not begun: nothing is done again", "resume the run",
        ),
        (
            esm(DONE, "running", NOT, NOT), "again", "mine", False, True,
            "a worker works on the run", "stop it first (S, or `steer-tui ctl stop`), then begin `mine` again",
        ),
        (
            esm(DONE, NOT, NOT, NOT), "again", "mine", True, False,
            "what was begun again is not taken back", "the earlier results are kept in earlier/",
        ),
        (
            esm(DONE, NOT, NOT, NOT), "skip", "mine", False, False,
            "`mine` is finished: there is nothing to skip", "choose a later stage",
        ),
        (
            esm(DONE, NOT, NOT, NOT), "skip", "select", True, False,
            "`select` is not skipped", "it is done when its turn comes",
        ),
        (
            esm(DONE, "running", NOT, NOT), "skip", "select", False, True,
            "`select` is at work", "make `select` the last one, or stop the run",
        ),
        (
            esm(DONE, DONE, NOT, NOT, "running"), "last", "mine", False, True,
            "`clusters` is at work", "make `clusters` the last one, or stop the run",
        ),
        (
            esm(DONE, DONE, DONE, DONE, DONE, DONE), "last", "select", False, False,
            "no stage is left to be done after `select`", "nothing has to be changed",
        ),
        (
            esm(DONE, NOT, NOT, NOT), "last", "select", True, False,
            "no stage is left out after `select`", "nothing has to be changed",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_chosen_is_one_clear_error(
    record: RunRecord, choice: Choice, stage: str, undo: bool, working: bool, what: str, hint: str
) -> None:
    with pytest.raises(RunError) as caught:
        change_of(record, choice, stage, undo, working)
    assert (caught.value.what, caught.value.where, caught.value.hint) == (what, "r/1", hint)


@pytest.mark.parametrize(
    ("choice", "what", "hint"),
    [
        ("again", "`select` is skipped", "undo that first"),
        ("skip", "`select` is skipped already", "undo that to have it done"),
        ("last", "`select` is skipped", "choose a stage that is done, or undo that first"),
    ],
)
def test_what_is_skipped_is_neither_done_again_nor_the_last_one(choice: Choice, what: str, hint: str) -> None:
    record = esm(DONE, NOT, NOT, NOT)
    apply(record, change_of(record, "skip", "select"))
    with pytest.raises(RunError) as caught:
        change_of(record, choice, "select")
    assert (caught.value.what, caught.value.where, caught.value.hint) == (what, "r/1", hint)


def test_a_stage_that_was_at_work_when_its_worker_vanished_can_be_skipped() -> None:
    assert change_of(esm(DONE, "running", NOT, NOT), "skip", "select").stages[0] == "select"


@pytest.mark.parametrize("half_done", ["running", "stopped", "failed", "pending", "finished"])
def test_texts_under_way_stay_where_another_stage_goes_on_with_them(tmp_path: Path, half_done: str) -> None:
    record = esm("stale", DONE, NOT, NOT, half_done)
    record.begun_again = 1
    (tmp_path / "esm/mine").mkdir(parents=True)
    (tmp_path / "esm/mine/rollouts.jsonl").touch()
    (tmp_path / KEPT_TEXTS).touch()
    stage_choices.put_aside(tmp_path, record)
    kept = tmp_path / stage_choices.kept_in(record)
    assert (kept / "esm/mine/rollouts.jsonl").exists() and not (tmp_path / "esm/mine/rollouts.jsonl").exists()
    assert (kept / KEPT_TEXTS).exists() is (half_done in ("pending", "finished"))
    written = (kept / "stages.json").read_bytes()
    assert list(json.loads(written)) == ["mine"] and written.endswith(b"\n}\n")
    record.stages["mine"].seconds = 9.0
    stage_choices.put_aside(tmp_path, record)
    assert (kept / "stages.json").read_bytes() == written, "what is there stays"


def test_a_stage_of_ones_own_that_names_no_files_cannot_be_begun_again() -> None:
    record = new_record("r", "1", seed=0, stages=["my:Stage"], config={}, versions={})
    record.stages["my:Stage"] = StageRecord(status="stopped")
    with pytest.raises(
        RunError,
        match=exactly(
            "`my:Stage` does not say which files it writes (r/1): name them in the `writes` of its entry "
            "(engine/README.md)"
        ),
    ):
        change_of(record, "again", "my:Stage")


def test_files_of_a_stage_of_ones_own_are_put_aside_by_the_names_that_it_gave(tmp_path: Path) -> None:
    """Not by what these would mean as patterns; what a sweep keeps of the stage goes with them."""
    record = new_record("r", "1", seed=0, stages=["my:Stage"], config={}, versions={})
    record.stages["my:Stage"] = StageRecord(status="stale", files=["my/a[1].txt"])
    record.begun_again = 2
    for name in ("my/a[1].txt", "my/a1.txt", "stages/my:Stage.json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    stage_choices.put_aside(tmp_path, record)
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert left == [
        "earlier/2/my/a[1].txt", "earlier/2/stages.json", "earlier/2/stages/my:Stage.json", "my/a1.txt",
    ]  # fmt: skip


def test_a_record_that_names_a_file_elsewhere_has_nothing_moved(tmp_path: Path) -> None:
    record = new_record("r", "1", seed=0, stages=["my:Stage"], config={}, versions={})
    record.stages["my:Stage"] = StageRecord(status="stale", files=["../precious"])
    record.begun_again = 1
    (tmp_path / "precious").touch()
    (tmp_path / "run").mkdir()
    with pytest.raises(DataError, match=r"a file is named '\.\./precious'"):
        stage_choices.put_aside(tmp_path / "run", record)
    assert (tmp_path / "precious").exists()


def test_statuses_after_a_choice() -> None:
    record = esm(DONE, DONE, DONE, DONE, DONE, DONE)
    record.status, record.failure = "finished", "of an earlier attempt"
    apply(record, change_of(record, "again", "memory"))
    assert (record.status, record.begun_again, record.failure) == ("stopped", 1, "")
    assert [stage.words for stage in record.stages.values()] == [DONE, DONE, "stale", "stale", DONE, DONE]
    assert chosen(record) == StagesChosen(stale=["memory", "eval"], kept="earlier/1")
    apply(record, change_of(record, "last", "memory"))
    assert record.stages["eval"].words == "stale, skipped" and not record.stages["memory"].settled
    apply(
        record, change_of(record, "again", "memory")
    )  # once more before it was done: the same attempt is kept
    assert record.begun_again == 1


@pytest.mark.parametrize(
    ("status", "choice", "after"),
    [("failed", "last", "stopped"), ("finished", "last", "finished"), ("stopped", "last", "stopped"),
     ("prepared", "last", "prepared"), ("finished", "again", "stopped"), ("interrupted", "again", "interrupted")],
)  # fmt: skip
def test_a_run_is_over_only_where_nothing_is_left(status: str, choice: Choice, after: str) -> None:
    """What failed has been dealt with by the choice."""
    record = esm(DONE, DONE, DONE, DONE, NOT, NOT)
    record.status, record.failure = status, "no such column"
    apply(record, change_of(record, choice, "eval"))
    assert (record.status, record.failure) == (after, "" if choice == "again" else "no such column")


def test_a_choice_that_takes_back_one_done_stage_begins_an_attempt() -> None:
    record = esm(DONE, DONE, "stale", DONE)
    apply(record, change_of(record, "again", "memory"))
    assert record.begun_again == 1


# ---------------------------------------------------------------- workers


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ITEM_SECONDS", "0.03")


def count(run: RunDirectory, folder: str = "count") -> int:
    path = run.path / folder / "items.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def names(events: list[Event]) -> list[str]:
    told = (
        "WorkerStarted",
        "StagesChosen",
        "StageBegunAgain",
        "StageFinishedBefore",
        "StageFinished",
        "WorkerStopped",
    )
    return [name for event in events if (name := type(event).__name__) in told]


def finish(run: RunDirectory, worker: Worker) -> None:
    prepare_resume(run)
    assert worker(run).wait(60) == 0, run.worker_log.read_text()


def test_begun_again_from_here_on(make_run: MakeRun, worker: Worker, events_of: EventsOf) -> None:
    """Files of the earlier attempt are kept whole, those of the new one are the same; the first stage stays."""
    run = make_run("Count", "CountAgain")
    assert worker(run).wait(60) == 0
    first = {name: (run.path / name).read_bytes() for name in ("count/items.jsonl", "again/items.jsonl")}
    stamp = (run.path / "count/items.jsonl").stat().st_mtime_ns
    log = run.events.read_bytes()
    assert choose_stage(run, "again", SECOND).stages == (SECOND,)
    assert inspect(run.path).state == "stopped" and not (run.path / "again/items.jsonl").exists()
    assert run.read().stages[SECOND].words == "stale" and run.read().stages[SECOND].summary == {"items": 5}
    finish(run, worker)
    assert (run.path / "count/items.jsonl").stat().st_mtime_ns == stamp
    assert (run.path / "again/items.jsonl").read_bytes() == first["again/items.jsonl"]
    assert (run.path / "earlier/1/again/items.jsonl").read_bytes() == first["again/items.jsonl"]
    assert not (run.path / "earlier/1/count").exists()
    kept = json.loads((run.path / "earlier/1/stages.json").read_text())
    assert list(kept) == [SECOND] and kept[SECOND]["files"] == ["again/items.jsonl"]
    assert run.events.read_bytes().startswith(log)
    assert names(events_of(run)[log.count(b"\n") :]) == [
        "StagesChosen", "WorkerStarted", "StagesChosen", "StageFinishedBefore", "StageBegunAgain", "StageFinished",
        "WorkerStopped",
    ]  # fmt: skip
    assert inspect(run.path).state == "finished" and not run.read().stages[SECOND].stale


def test_all_is_begun_again_and_killed_on_the_way(
    make_run: MakeRun,
    worker: Worker,
    wait_until: WaitUntil,
    monkeypatch: pytest.MonkeyPatch,
    events_of: EventsOf,
) -> None:
    run = make_run("Count", "CountAgain", items=20)
    assert worker(run).wait(60) == 0
    monkeypatch.setenv("ITEM_SECONDS", "0.03")
    first = {name: (run.path / name).read_bytes() for name in ("count/items.jsonl", "again/items.jsonl")}
    choose_stage(run, "again", FIRST)
    for folder in ("count", "again"):
        prepare_resume(run)
        process = worker(run)
        wait_until(lambda folder=folder: 2 < count(run, folder) < 18, "items")
        process.kill()
        process.wait(10)
        if folder == "count":
            assert run.read().stages[SECOND].stale and count(run, "again") == 0
            assert (
                run.read().stages[FIRST].summary == {}
            )  # that of the earlier attempt is in earlier/1/stages.json
    monkeypatch.delenv("ITEM_SECONDS")
    finish(run, worker)
    for name, data in first.items():
        assert (run.path / name).read_bytes() == data == (run.path / "earlier/1" / name).read_bytes()
    again = [event.stage for event in events_of(run) if isinstance(event, StageBegunAgain)]
    assert again == [FIRST, SECOND]  # a resumed stage is not begun again


@pytest.mark.parametrize("last", ["run.json is written", "half is put aside", "all is put aside"])
def test_a_choice_that_is_killed_half_way_is_completed_by_the_worker(
    make_run: MakeRun, worker: Worker, monkeypatch: pytest.MonkeyPatch, events_of: EventsOf, last: str
) -> None:
    run = make_run("Count", "CountAgain")
    assert worker(run).wait(60) == 0
    whole = {folder: (run.path / folder / "items.jsonl").read_bytes() for folder in ("count", "again")}
    moved: list[Path] = []
    move, aside = os.replace, stage_choices.put_aside

    def killed(*given: object) -> None:
        raise KeyboardInterrupt

    def replace(source: Path, target: Path) -> None:
        if "earlier" in str(target) and "items" in str(source):
            if moved:
                raise KeyboardInterrupt
            moved.append(Path(source))
        move(source, target)

    if last == "run.json is written":
        monkeypatch.setattr(stage_choices, "put_aside", killed)
    elif last == "half is put aside":
        monkeypatch.setattr(os, "replace", replace)
    else:
        monkeypatch.setattr(stage_choices, "put_aside", aside)
        monkeypatch.setattr(stage_choices, "chosen", killed)
    with pytest.raises(KeyboardInterrupt):
        choose_stage(run, "again", FIRST)
    monkeypatch.undo()
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "stages"))
    finish(run, worker)
    for folder, data in whole.items():
        for path in (run.path, run.path / "earlier/1"):
            assert (path / folder / "items.jsonl").read_bytes() == data
    assert [e.stage for e in events_of(run) if isinstance(e, StageBegunAgain)] == [FIRST, SECOND]


def test_skipped_and_made_the_last_one_during_a_run(
    make_run: MakeRun,
    worker: Worker,
    wait_until: WaitUntil,
    slow: None,
    monkeypatch: pytest.MonkeyPatch,
    events_of: EventsOf,
) -> None:
    """Over the socket; a kill right after the answer changes nothing; taken back, the stage is done after all."""
    run = make_run("Count", "CountAgain", items=30)
    process = worker(run)
    wait_until(lambda: count(run) > 2, "items")
    with pytest.raises(
        RunError,
        match=exactly(
            "`example_stages:Count` is at work (test/…): make `example_stages:Count` the last "
            "one, or stop the run"
        ),
    ):
        choose_stage(run, "skip", FIRST)
    with pytest.raises(
        RunError,
        match=exactly(
            "a worker works on the run (test/…): stop it first (S, or `steer-tui ctl stop`), "
            "then begin `example_stages:Count` again"
        ),
    ):
        choose_stage(run, "again", FIRST)
    refused = send(run, "stage", choice="again", stage=FIRST)
    assert not refused.ok and "a worker works on the run" in refused.error
    assert choose_stage(run, "last", FIRST).stages == (SECOND,)
    process.kill()
    process.wait(10)
    monkeypatch.delenv("ITEM_SECONDS")
    finish(run, worker)
    assert inspect(run.path).state == "finished" and count(run) == 30 and count(run, "again") == 0
    assert run.read().stages[SECOND].words == "skipped"
    assert choose_stage(run, "skip", SECOND, undo=True).stages == (SECOND,)
    assert inspect(run.path).state == "stopped"
    finish(run, worker)
    assert count(run, "again") == 30
    told = [event.skipped for event in events_of(run) if isinstance(event, StagesChosen)]
    assert told[0] == told[1] == [SECOND] and told[2:] == [[], []]


def test_what_is_taken_back_during_a_run_is_done_in_it(
    make_run: MakeRun, worker: Worker, wait_until: WaitUntil, slow: None
) -> None:
    """Also a stage whose turn has passed."""
    run = make_run("CountAgain", "Count", items=30)
    assert choose_stage(run, "skip", SECOND).stages == (
        SECOND,
        FIRST,
    )  # what one's own stage needs is not known
    assert choose_stage(run, "skip", FIRST, undo=True).stages == (FIRST,)
    process = worker(run)
    wait_until(lambda: count(run) > 2, "items")
    assert choose_stage(run, "skip", SECOND, undo=True).stages == (SECOND,)
    assert process.wait(60) == 0
    assert (count(run), count(run, "again")) == (30, 30)


def test_one_chooser_at_a_time(make_run: MakeRun) -> None:
    run = make_run("Count")
    lock = stage_choices.RunLock(run.lock)
    try:
        with pytest.raises(
            RunError,
            match=exactly(
                "worker … on … is at work on this run (…/outputs/test/…): watch it with "
                "`steer-tui RUN`, or stop it first"
            ),
        ):
            stage_choices.choose(run, "skip", FIRST)
    finally:
        lock.release()
    assert stage_choices.choose(run, "skip", FIRST).stages == (FIRST,)
